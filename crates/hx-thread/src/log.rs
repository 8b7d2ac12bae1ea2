//! The log of a launch: prints, and assertions that did not hold.
//!
//! The host passes the kernel one buffer of 64-bit little-endian words, zero except for its head ([`LogPlan::buffer`]), and
//! reads it after the launch ([`LogPlan::read`]). Every block has its own area. All its threads compute where the next
//! record begins, without communication. So which records are kept depends on the launch alone, and logging adds no barrier
//! to the program.
//!
//! | words | what |
//! |---|---|
//! | [`LOG_BLOCKS`] | blocks with an area: those with a lower number |
//! | [`LOG_DROPPED`] | records that did not fit |
//! | two for each assertion, from [`assertion_word`] | failed elements; the complement of the least [`failure_key`] |
//! | three for each assertion that compares numbers, from [`sides_word`] | a lock; the left and the right side of the first failure |
//! | one for each block and one more, from [`areas_word`] | the byte at which its area begins, and at which the last one ends |
//! | areas | records |
//!
//! If a role prints, an area has a slice of equal length for each group of threads that runs by itself: the block before its roles, then
//! each group of each role, in their order. Nothing orders the records of two slices. Any other area is a single slice.
//!
//! A record is one word with the entry's number plus one, then the elements in row-major order, each in whole bytes, padded
//! to [`record_bytes`]. A group appends records to its slice while they fit; after the first record that does not fit, it appends none.

mod plan;
#[cfg(test)]
mod tests;

use hx_dtype::DType;
use hx_tile::{OpId, Origin};

pub use plan::{LogPlan, log_slice, log_slices};

/// The word with the number of blocks that have an area.
pub const LOG_BLOCKS: usize = 0;
/// The word that counts the records that were not kept.
pub const LOG_DROPPED: usize = 1;
/// The number of words before those of the assertions.
const HEAD: usize = 2;
/// Bytes of a word.
pub const LOG_WORD: u64 = 8;
/// Bits of an element's position in a [`failure_key`].
const POSITION_BITS: u32 = 21;
/// Bits of the number of earlier executions in a [`failure_key`].
const RUN_BITS: u32 = 12;
/// The largest number of earlier executions in a [`failure_key`]. It stands for every larger number, too.
pub const LAST_RUN: u32 = (1 << RUN_BITS) - 1;

/// A `print` or an `assert` of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct LogEntry {
    pub op: OpId,
    pub origin: Origin,
    pub kind: LogKind,
    /// The text before a printed value, or the message of an assertion.
    pub text: String,
    /// `None` for an entry that prints a text alone.
    pub value: Option<LogValue>,
    /// The element types of the two numbers that an assertion compares; empty for all other entries.
    pub sides: Vec<DType>,
}

/// The effect of an entry on the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogKind {
    /// The entry keeps records.
    Print,
    /// The entry counts failures.
    Assert,
}

/// The tensor of an entry.
#[derive(Clone, PartialEq, Debug)]
pub struct LogValue {
    pub dtype: DType,
    /// Extents in elements.
    pub shape: Vec<i64>,
    /// Whether the value is a number of the block, as the tensor's only element.
    pub uniform: bool,
}

impl LogValue {
    /// Returns the bytes of one element in a record.
    pub fn element_bytes(&self) -> u64 {
        u64::from(self.dtype.bits().div_ceil(8))
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product::<i64>().unsigned_abs()
    }
}

/// Returns the bytes of one record of an entry, its first word included: a multiple of [`LOG_WORD`].
pub fn record_bytes(entry: &LogEntry) -> u64 {
    let payload = entry.value.as_ref().map_or(0, |v| v.elements() * v.element_bytes());
    LOG_WORD + payload.next_multiple_of(LOG_WORD)
}

/// Returns the index of the first of the two words of an assertion.
pub fn assertion_word(log: &[LogEntry], entry: usize) -> usize {
    let before = log.iter().take(entry).filter(|e| e.kind == LogKind::Assert).count();
    HEAD + 2 * before
}

/// The words of an assertion that compares numbers: a lock, and the two sides.
const SIDE_WORDS: usize = 3;

/// Returns the index of the word that holds the lock of an assertion that compares two numbers. The two words after it have the
/// sides of the first failure. A block changes them and the key of the first failure only while it holds the lock, so that all
/// three belong to one failure.
pub fn sides_word(log: &[LogEntry], entry: usize) -> usize {
    let before = log.iter().take(entry).filter(|e| !e.sides.is_empty()).count();
    assertion_word(log, log.len()) + SIDE_WORDS * before
}

/// Returns the index of the word at which the table of areas begins.
pub fn areas_word(log: &[LogEntry]) -> usize {
    sides_word(log, log.len())
}

/// Returns the bytes of each of `slices` slices of an area of so many bytes.
pub(crate) fn slice_bytes(area: u64, slices: u64) -> u64 {
    if slices == 1 { area } else { area / (LOG_WORD * slices) * LOG_WORD }
}

/// Returns the key by which failures are ordered: by block, then by how often the block had executed the assertion before,
/// then by position. The least key is the first failure. A buffer holds complements, so that zero means that nothing failed.
pub fn failure_key(block: u64, run: u32, position: u64) -> u64 {
    (block << RUN_BITS | u64::from(run.min(LAST_RUN))) << POSITION_BITS | position
}

/// The factors of block and run in a [`failure_key`], as shifts.
pub const FAILURE_SHIFTS: [u32; 2] = [RUN_BITS + POSITION_BITS, POSITION_BITS];

/// The contents of the log of a launch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LogContents {
    /// In the order of the blocks, x fastest, and within a block in the order of time. Records of roles follow those of the block, role
    /// after role and group after group: nothing tells their order of time.
    pub printed: Vec<Printed>,
    /// In the order of the entries.
    pub failed: Vec<Failed>,
    /// The number of records that did not fit.
    pub dropped: u64,
}

/// A print by a single block.
#[derive(Clone, PartialEq, Debug)]
pub struct Printed {
    /// The index of the block along x, y and z.
    pub block: [u32; 3],
    /// The position among the program's entries.
    pub entry: usize,
    /// The elements in row-major order, packed as in a tensor of that type; empty for an entry that prints a text alone.
    pub bytes: Vec<u8>,
}

/// An assertion that did not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// The position among the program's entries.
    pub entry: usize,
    /// The number of elements for which it did not hold, over all blocks and executions.
    pub count: u64,
    /// The first block with such an element.
    pub block: [u32; 3],
    /// The number of earlier executions by that block; [`LAST_RUN`] also stands for larger numbers.
    pub run: u32,
    /// The first such element in that execution.
    pub coordinate: Vec<i64>,
    /// The bits of the two numbers that did not compare as asserted there; empty if the assertion compares none.
    pub sides: Vec<u64>,
}

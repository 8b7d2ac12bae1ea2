//! What a launch tells the host besides its results: prints, and assertions that do not hold.
//!
//! The host gives the kernel one buffer of 64-bit little-endian words, zero but for its head ([`LogPlan::buffer`]), and reads it when
//! the launch has ended ([`LogPlan::read`]). Every block has an area of its own, in which all its threads know where the next record
//! begins without asking each other: what is kept depends on nothing but the launch, and no barrier is added to the program.
//!
//! | words | what |
//! |---|---|
//! | [`LOG_BLOCKS`] | blocks with an area: those with a lower number |
//! | [`LOG_DROPPED`] | records that found no room |
//! | two for each assertion, from [`assertion_word`] | elements for which it did not hold; the complement of the least [`failure_key`] |
//! | one for each block and one more, from [`areas_word`] | the byte at which its area begins, and at which the last one ends |
//! | areas | records |
//!
//! A record is a word, the entry's number plus one, and the elements in row-major order, each in whole bytes, filled up to
//! [`record_bytes`]. A block appends while there is room; after the first record that does not fit, none does.

mod plan;
#[cfg(test)]
mod tests;

use hx_dtype::DType;
use hx_tile::{OpId, Origin};

pub use plan::LogPlan;

/// Word that holds how many blocks have an area.
pub const LOG_BLOCKS: usize = 0;
/// Word that counts the records that were not kept.
pub const LOG_DROPPED: usize = 1;
/// Words before those of the assertions.
const HEAD: usize = 2;
/// Bytes of a word.
pub const LOG_WORD: u64 = 8;
/// Bits of an element's position in a [`failure_key`].
const POSITION_BITS: u32 = 21;
/// Bits of the number of executions before.
const RUN_BITS: u32 = 12;
/// From this many executions on, a failure is told of "this one or a later one".
pub const LAST_RUN: u32 = (1 << RUN_BITS) - 1;

/// A `print` or an `assert` of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct LogEntry {
    pub op: OpId,
    pub origin: Origin,
    pub kind: LogKind,
    /// What stands before a printed value, or what an assertion says.
    pub text: String,
    /// Nothing for a text alone.
    pub value: Option<LogValue>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogKind {
    /// Records are kept.
    Print,
    /// Failures are counted.
    Assert,
}

/// The tensor of an entry.
#[derive(Clone, PartialEq, Debug)]
pub struct LogValue {
    pub dtype: DType,
    /// Extents in elements.
    pub shape: Vec<i64>,
    /// Its only element is a number of the block.
    pub uniform: bool,
}

impl LogValue {
    /// Bytes of one element in a record.
    pub fn element_bytes(&self) -> u64 {
        u64::from(self.dtype.bits().div_ceil(8))
    }

    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product::<i64>().unsigned_abs()
    }
}

/// Bytes of one record of an entry, its first word included: a multiple of [`LOG_WORD`].
pub fn record_bytes(entry: &LogEntry) -> u64 {
    let payload = entry.value.as_ref().map_or(0, |v| v.elements() * v.element_bytes());
    LOG_WORD + payload.next_multiple_of(LOG_WORD)
}

/// The first of the two words of an assertion.
pub fn assertion_word(log: &[LogEntry], entry: usize) -> usize {
    let before = log.iter().take(entry).filter(|e| e.kind == LogKind::Assert).count();
    HEAD + 2 * before
}

/// The word at which the beginnings of the areas start.
pub fn areas_word(log: &[LogEntry]) -> usize {
    assertion_word(log, log.len())
}

/// Failures in order: by block, then by how often the block had executed the assertion before, then by position. The greatest key is
/// the last; a buffer holds complements, so that zero means that nothing failed.
pub fn failure_key(block: u64, run: u32, position: u64) -> u64 {
    (block << RUN_BITS | u64::from(run.min(LAST_RUN))) << POSITION_BITS | position
}

/// The factors of block and run in a [`failure_key`].
pub const FAILURE_SHIFTS: [u32; 2] = [RUN_BITS + POSITION_BITS, POSITION_BITS];

/// What a launch told.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LogContents {
    /// In the order of the blocks, x fastest, and within a block of time.
    pub printed: Vec<Printed>,
    /// In the order of the entries.
    pub failed: Vec<Failed>,
    /// Records that were not kept, for want of room.
    pub dropped: u64,
}

/// One print by one block.
#[derive(Clone, PartialEq, Debug)]
pub struct Printed {
    /// Index of the block along x, y and z.
    pub block: [u32; 3],
    /// Position among the program's entries.
    pub entry: usize,
    /// The elements in row-major order, packed as in a tensor of that type; empty for a text alone.
    pub bytes: Vec<u8>,
}

/// An assertion that did not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// Position among the program's entries.
    pub entry: usize,
    /// Elements for which it did not hold, over all blocks and executions.
    pub count: u64,
    /// The first block with such an element.
    pub block: [u32; 3],
    /// How often that block had executed it before; [`LAST_RUN`] stands for more, too.
    pub run: u32,
    /// The first such element there.
    pub coordinate: Vec<i64>,
}

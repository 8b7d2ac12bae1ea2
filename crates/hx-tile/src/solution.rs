//! What synthesis answers: layouts, instructions and the reasons for them.

use std::collections::BTreeMap;

use hx_layout::{Layout, Swizzle};

use crate::{Edits, OpId, TensorId};

/// One consistent choice for everything the program leaves open.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Solution {
    /// The thread-value layout of each register tensor.
    pub registers: BTreeMap<TensorId, Distribution>,
    /// The memory layout of each shared tensor.
    pub shared: BTreeMap<TensorId, SharedLayout>,
    /// The instruction of each operation that needs one.
    pub choices: BTreeMap<OpId, Choice>,
    /// Redistributions that the solution adds. [`Solution::program`] is the program that everything here speaks of.
    pub edits: Edits,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// Estimated cycles of a block.
    pub cost: f64,
    /// The part of them that accesses take because they share a memory and that values take to change hands, beyond what the cheapest
    /// choice of each operation takes alone.
    pub strain: f64,
    /// The constraints that were solved, in the paper's notation, in order.
    pub constraints: Vec<Demand>,
    /// Branches of the search and layouts of shared memory that were looked at: what solving took, the same on every machine.
    pub steps: u64,
    /// Branches of the search that its budget left alone: with more, a cheaper solution might have been found.
    pub unexplored: u64,
}

/// A constraint as text, with the operation that makes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    pub op: OpId,
    pub text: String,
}

/// Why something was chosen: one line, and the operations that it follows from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reason {
    pub text: String,
    pub from: Vec<OpId>,
}

/// Which thread holds which element (the paper's thread-value layout).
///
/// `layout` has two modes, thread and value, and maps to the colexicographic index in `tile`. The tile may be larger than the
/// tensor where threads do not divide it: an element whose coordinate is outside of the tensor is held but means nothing; it is never
/// loaded or stored. A stride of 0 in the thread mode means that several threads hold the same element.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    /// Extents covered, each at least the tensor's.
    pub tile: Vec<i64>,
    pub layout: Layout,
    pub reason: Reason,
}

/// Where each element of a shared tensor lies, in elements: `swizzle(layout(i))` for the colexicographic index `i`.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedLayout {
    pub layout: Layout,
    /// Acts on element offsets.
    pub swizzle: Swizzle,
    /// First byte in the block's shared memory.
    pub offset: u32,
    pub bytes: u32,
    /// Accesses that would be wider if the tensor had no others.
    pub narrowed: Vec<OpId>,
    pub reason: Reason,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Choice {
    Copy(CopyChoice),
    Gemm(GemmChoice),
    Convert(ConvertChoice),
    Map(MapChoice),
    Reduce(ReduceChoice),
    Rearrange(RearrangeChoice),
    Slice(SliceChoice),
    Scan(ScanChoice),
}

/// Which positions an elementwise expression reads.
#[derive(Clone, PartialEq, Debug)]
pub struct MapChoice {
    /// For each input, position in the destination's values → position in the input's.
    pub inputs: Vec<Layout>,
    pub reason: Reason,
}

/// How a reduction runs: within each thread, then between lanes, then through shared memory.
#[derive(Clone, PartialEq, Debug)]
pub struct ReduceChoice {
    /// Position in the source's values → position in the destination's.
    pub local: Layout,
    /// Lanes that exchange partial results: each step combines with the lane whose number differs by this mask.
    pub lanes: Vec<u32>,
    /// Threads of different warps, if the axis is dealt to several.
    pub across: Option<Across>,
    pub reason: Reason,
}

/// How a part of a register tensor gets to the threads that hold it.
#[derive(Clone, PartialEq, Debug)]
pub struct SliceChoice {
    /// Position in the destination's values → position in the source's, in the thread that has the element. Nothing if every element
    /// goes through shared memory.
    pub positions: Option<Layout>,
    /// Added to the positions.
    pub first: i64,
    /// Digits of the thread number, each `(unit, extent, digit)`: the thread that has the elements is one's own number with these
    /// digits. With none of them, every thread has its own.
    pub lanes: Vec<(i64, i64, i64)>,
    /// Where the elements meet otherwise, row-major in the destination's shape.
    pub through: Option<Scratch>,
    pub reason: Reason,
}

/// Shared memory that one operation uses for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scratch {
    /// First byte in the block's shared memory.
    pub offset: u32,
    pub bytes: u32,
}

/// How a scan runs: digit by digit of the coordinate along the axis, from the one that moves least.
#[derive(Clone, PartialEq, Debug)]
pub struct ScanChoice {
    /// For each tensor, position in the destination's values → position in the source's.
    pub src: Vec<Layout>,
    pub levels: Vec<ScanLevel>,
    /// For each tensor, where the sums of threads of different warps meet.
    pub scratch: Vec<Scratch>,
    pub reason: Reason,
}

/// One digit of the coordinate along the axis of a scan. `step` is how far it moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanLevel {
    /// Values of one thread: digit `position / unit % extent`.
    Values { unit: i64, extent: i64, step: i64 },
    /// Lanes of a warp: digit `thread / unit % extent`.
    Lanes { unit: i64, extent: i64, step: i64 },
    /// Threads that meet in shared memory: digit `thread / unit % extent`.
    Across { unit: i64, extent: i64, step: i64 },
}

/// Partial results that meet in shared memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Across {
    /// The thread's part: digits of the thread number, each `(unit, extent)`, the first fastest.
    pub digits: Vec<(i64, i64)>,
    /// First byte of the scratch buffer in the block's shared memory: `parts × rows` elements of the destination's type, rows fastest.
    pub offset: u32,
    pub bytes: u32,
}

/// How the values of a register tensor get to the threads that hold another.
#[derive(Clone, PartialEq, Debug)]
pub struct RearrangeChoice {
    pub route: Route,
    /// Estimated cycles of a block for all its executions; through shared memory with the barriers.
    pub cycles: f64,
    pub reason: Reason,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Route {
    /// Every thread has its values already: position in the destination → position in the source.
    Within(Layout),
    /// The same where the positions are no layout: one for each position of the destination.
    Renamed(Vec<i64>),
    /// Every thread gets each value from a lane of its warp.
    Lanes(Lanes),
    /// One instruction after another moves matrices between the lanes of a warp: instruction `i` gives the destination's values
    /// number `n · i` to `n · i + n - 1`.
    Matrices {
        /// The exchange row.
        row: String,
        /// `[value, instruction]` → position in the source.
        src: Layout,
    },
    /// Written to the shared tensor that the operation names and, after a barrier, read again.
    Shared { store: CopyChoice, load: CopyChoice },
}

/// Which lane of its warp a thread gets each value from, and where that lane has it. Both are a sum of what the thread decides and
/// what the value's number decides.
#[derive(Clone, PartialEq, Debug)]
pub struct Lanes {
    /// The exchange row.
    pub row: String,
    /// Neighbours that go together, in one register word.
    pub together: i64,
    /// Thread → lane, and value → how many lanes further.
    pub lane: [Layout; 2],
    /// Thread → position, and value → how much further.
    pub position: [Layout; 2],
}

/// How a copy is made of one instruction, issued again and again. An asynchronous copy touches no registers.
#[derive(Clone, PartialEq, Debug)]
pub struct CopyChoice {
    /// The row of the catalogue.
    pub row: String,
    /// Extents covered, as of the register tensor's [`Distribution`].
    pub tile: Vec<i64>,
    /// `[thread, value, issue]` → index in `tile`: what each thread's address covers. The values lie one after the other in memory.
    pub memory: Layout,
    /// `[value, issue]` → position among the values of the thread in the register tensor.
    pub register: Layout,
    /// Bytes that one address covers.
    pub bytes: u32,
    /// Bank conflicts, for shared memory.
    pub conflicts: Option<Conflicts>,
    pub reason: Reason,
}

/// Wavefronts of shared memory that one execution of an operation takes, over all warps and issues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conflicts {
    pub wavefronts: u64,
    /// What the same bytes would take without conflicts.
    pub ideal: u64,
}

/// How a gemm is made of one instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct GemmChoice {
    pub row: String,
    /// Warps (or threads, for an instruction of one thread) along M, N and the batch.
    pub arrangement: [i64; 3],
    /// `[value, m issue, k issue, batch issue]` → position among the thread's values of A.
    pub a: Layout,
    /// `[value, n issue, k issue, batch issue]` → position among the thread's values of B.
    pub b: Layout,
    /// `[value, m issue, n issue, batch issue]` → position among the thread's values of C.
    pub c: Layout,
    /// Issues along M, N, K and the batch.
    pub issues: [i64; 4],
    pub reason: Reason,
}

impl GemmChoice {
    /// The warps along M and N, and along the batch if there are several: `2×2`, `1×1×8`.
    pub fn across(&self) -> String {
        match self.arrangement {
            [m, n, 1] => format!("{m}×{n}"),
            [m, n, batch] => format!("{m}×{n}×{batch}"),
        }
    }
}

/// How a conversion is made: `values` neighbours at a time.
#[derive(Clone, PartialEq, Debug)]
pub struct ConvertChoice {
    /// The row of the catalogue; nothing for a plain move, and for conversions that are written one element at a time.
    pub row: Option<String>,
    /// `[value, issue]` → position among the thread's values of the source.
    pub src: Layout,
    /// `[value, issue]` → position among the thread's values of the destination.
    pub dst: Layout,
    pub reason: Reason,
}

impl Route {
    /// The rows of the catalogue that it takes.
    pub fn rows(&self) -> Vec<&str> {
        match self {
            Route::Within(_) | Route::Renamed(_) => vec![],
            Route::Lanes(lanes) => vec![&lanes.row],
            Route::Matrices { row, .. } => vec![row],
            Route::Shared { store, load } => vec![&store.row, &load.row],
        }
    }
}

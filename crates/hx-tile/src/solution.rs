//! The result of synthesis: layouts, instructions and the reasons for them.

use std::collections::BTreeMap;

use hx_layout::{Layout, Swizzle};
use hx_target::{BulkRow, ConvertRow, CopyRow, ExchangeRow, GemmRow, PrefetchRow, ReachRow, Row};

use crate::{Cost, OpId, ScopeId, TensorId};

/// A consistent choice for everything that a solved program leaves open. The solver adds loads and moves to a program, so that all
/// tensors and operations are those of the program that it returns together with the solution.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Solution {
    /// The thread-value layout of each register tensor.
    pub registers: BTreeMap<TensorId, Distribution>,
    /// The memory layout of each shared tensor.
    pub shared: BTreeMap<TensorId, SharedLayout>,
    /// The instruction of each operation that needs one.
    pub choices: BTreeMap<OpId, Choice>,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The number of blocks that should run together on a multiprocessor: the compiler bounds registers by it.
    pub resident_blocks: u32,
    /// The registers of each thread of a role while it runs its body. Threads of roles that are not listed keep those of the launch.
    pub role_registers: BTreeMap<ScopeId, u32>,
    /// Estimated cycles of a block, as a sum over all operations: the search compares solutions by it.
    pub cost: f64,
    /// The cost of one execution of each operation.
    pub costs: BTreeMap<OpId, Cost>,
    /// The part of `cost` beyond the cheapest choice of each operation on its own. It arises because accesses share a memory
    /// and because values move between threads.
    pub strain: f64,
    /// The constraints that were solved, in order, in the paper's notation.
    pub constraints: Vec<Demand>,
    /// The branches of the search and the layouts of shared memory that were examined: a measure of solving work that is the
    /// same on every machine.
    pub steps: u64,
    /// The branches of the search that its budget did not reach. With a larger budget, a cheaper solution might have been
    /// found.
    pub unexplored: u64,
}

/// A constraint as text, with the operation that imposes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    pub op: OpId,
    pub text: String,
}

/// The reason for a choice: one line, and the operations that it follows from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reason {
    pub text: String,
    pub from: Vec<OpId>,
}

/// The thread that holds each element (the paper's thread-value layout).
///
/// `layout` has two modes, thread and value, and maps to the colexicographic index in `tile`. The tile may be larger than
/// the tensor if the threads do not divide it. Elements outside of the tensor are held but have no meaning, and are never
/// loaded or stored. A stride of 0 in the thread mode means that several threads hold the same element.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    /// The extents that the layout covers, each at least the tensor's.
    pub tile: Vec<i64>,
    pub layout: Layout,
    pub reason: Reason,
}

/// The place of each element of a shared tensor, in elements: `swizzle(layout(i))` for the colexicographic index `i`.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedLayout {
    pub layout: Layout,
    /// Permutes element offsets.
    pub swizzle: Swizzle,
    /// The offset of the first byte in the block's shared memory.
    pub offset: u32,
    /// The bytes of all copies, if groups have the tensor for themselves: [`crate::TileProgram::copies_of`].
    pub bytes: u32,
    /// Accesses that would be wider if the tensor had no other accesses.
    pub narrowed: Vec<OpId>,
    pub reason: Reason,
}

/// The decisions of the solver for one operation.
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
    Bulk(BulkChoice),
    Prefetch(PrefetchChoice),
}

impl Choice {
    /// Returns the choice of a copy between registers and a memory, or between two memories, by the threads.
    pub fn copy(&self) -> Option<&CopyChoice> {
        let Choice::Copy(copy) = self else { return None };
        Some(copy)
    }

    /// Returns the choice of a matrix product.
    pub fn gemm(&self) -> Option<&GemmChoice> {
        let Choice::Gemm(gemm) = self else { return None };
        Some(gemm)
    }

    /// Returns the reason for the instruction of a copy or a product; `None` for other operations.
    pub fn reason_mut(&mut self) -> Option<&mut Reason> {
        match self {
            Choice::Copy(copy) => Some(&mut copy.reason),
            Choice::Bulk(bulk) => Some(&mut bulk.reason),
            Choice::Gemm(gemm) => Some(&mut gemm.reason),
            Choice::Convert(_)
            | Choice::Map(_)
            | Choice::Reduce(_)
            | Choice::Rearrange(_)
            | Choice::Slice(_)
            | Choice::Scan(_)
            | Choice::Prefetch(_) => None,
        }
    }

    /// Returns the instruction of a copy, by the threads or in bulk, and the reason for it; `None` for other operations.
    pub fn mover(&self) -> Option<(&'static str, &Reason)> {
        match self {
            Choice::Copy(copy) => Some((copy.row.name(), &copy.reason)),
            Choice::Bulk(bulk) => Some((bulk.row.name(), &bulk.reason)),
            Choice::Gemm(_)
            | Choice::Convert(_)
            | Choice::Map(_)
            | Choice::Reduce(_)
            | Choice::Rearrange(_)
            | Choice::Slice(_)
            | Choice::Scan(_)
            | Choice::Prefetch(_) => None,
        }
    }
}

/// The positions that an elementwise expression reads.
#[derive(Clone, PartialEq, Debug)]
pub struct MapChoice {
    /// For each input, position in the destination's values → position in the input's.
    pub inputs: Vec<Layout>,
    pub reason: Reason,
}

/// The steps of a reduction: within each thread, then between lanes, then through shared memory.
#[derive(Clone, PartialEq, Debug)]
pub struct ReduceChoice {
    /// Position in the source's values → position in the destination's.
    pub local: Layout,
    /// The exchanges of partial results between lanes. Each step combines with the lane whose number differs by this mask.
    pub lanes: Vec<u32>,
    /// The threads of different warps that combine their results, if the axis is distributed over several warps.
    pub across: Option<Across>,
    pub reason: Reason,
}

/// The path by which threads read a slice of a register tensor, or write it: within a thread, from another lane, or through shared memory.
#[derive(Clone, PartialEq, Debug)]
pub struct SliceChoice {
    /// Position in the part's values → position in the whole tensor's, in the thread that holds the element. `None` if every
    /// element goes through shared memory.
    pub positions: Option<Layout>,
    /// An offset that is added to the positions.
    pub first: i64,
    /// Digits of the thread number, each `(unit, extent, digit)`. A thread gets its elements from the thread whose number has
    /// these digits, and otherwise the digits of its own number. If there are none, every thread holds its elements itself.
    pub lanes: Vec<(i64, i64, i64)>,
    /// A thread gets its elements from the lane whose number differs from its own by this mask. 0 if `lanes` name another thread, or
    /// if every thread holds its elements itself.
    pub mirrored: u32,
    /// The shared memory that elements go through if `positions` is `None`, row-major in the part's shape; `None` otherwise.
    pub through: Option<Scratch>,
    pub reason: Reason,
}

/// Shared memory that an operation uses for itself. If several groups execute the operation, each has an equal part of it, in
/// the order of the groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scratch {
    /// The offset of the first byte in the block's shared memory.
    pub offset: u32,
    pub bytes: u32,
}

/// The steps of a scan: digit by digit of the coordinate along the axis, from the digit with the smallest step.
#[derive(Clone, PartialEq, Debug)]
pub struct ScanChoice {
    /// For each tensor, position in the destination's values → position in the source's.
    pub src: Vec<Layout>,
    pub levels: Vec<ScanLevel>,
    /// For each tensor, the shared memory in which threads of different warps exchange totals.
    pub scratch: Vec<Scratch>,
    pub reason: Reason,
}

/// A digit of the coordinate along the axis of a scan. `step` is the distance along the axis of one step of the digit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanLevel {
    /// Values of one thread: digit `position / unit % extent`.
    Values { unit: i64, extent: i64, step: i64 },
    /// Lanes of a warp: digit `thread / unit % extent`.
    Lanes { unit: i64, extent: i64, step: i64 },
    /// Threads that exchange totals in shared memory: digit `thread / unit % extent`.
    Across { unit: i64, extent: i64, step: i64 },
}

/// Partial results that are combined in shared memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Across {
    /// The part that a thread has: digits of the thread number, each `(unit, extent)`, the first fastest.
    pub digits: Vec<(i64, i64)>,
    /// The offset of the scratch buffer in the block's shared memory, in bytes. The buffer has `parts × rows` elements of
    /// the destination's type, rows fastest, for each group that executes the reduction.
    pub offset: u32,
    pub bytes: u32,
}

/// The path from the threads that hold the values of a register tensor to the threads that hold them in another one.
#[derive(Clone, PartialEq, Debug)]
pub struct RearrangeChoice {
    pub route: Route,
    /// Estimated cycles of a block for all executions, including the barriers of an exchange through shared memory.
    pub cycles: f64,
    pub reason: Reason,
}

/// The path of the values of a rearrangement.
#[derive(Clone, PartialEq, Debug)]
pub enum Route {
    /// Every thread already holds its values: position in the destination → position in the source.
    Within(Layout),
    /// As `Within`, for positions that are no layout: one for each position of the destination.
    Renamed(Vec<i64>),
    /// Every thread gets each value from a lane of its warp.
    Lanes(Lanes),
    /// A sequence of instructions moves matrices between the lanes of a warp. Instruction `i` sets the destination's values
    /// `n · i` to `n · i + n - 1`.
    Matrices {
        /// The exchange row.
        row: Row<ExchangeRow>,
        /// `[value, instruction]` → position in the source.
        src: Layout,
    },
    /// The values are stored to the shared tensor that the operation names and, after a barrier, loaded.
    Shared { store: Box<CopyChoice>, load: Box<CopyChoice> },
}

/// The lane of its warp from which a thread gets each value, and the value's position in that lane. Both are the sum of a
/// function of the thread and a function of the value's number.
#[derive(Clone, PartialEq, Debug)]
pub struct Lanes {
    /// The exchange row.
    pub row: Row<ExchangeRow>,
    /// The number of neighbouring values that move together in one register word.
    pub together: i64,
    /// Thread → lane, and value → number of lanes to add.
    pub lane: [Layout; 2],
    /// Thread → position, and value → number of positions to add.
    pub position: [Layout; 2],
}

/// The instruction of a copy and its repetitions: the elements that each thread moves in each issue. An asynchronous copy accesses no
/// registers.
#[derive(Clone, PartialEq, Debug)]
pub struct CopyChoice {
    /// The row of the catalogue.
    pub row: Row<CopyRow>,
    /// The extents that the copy covers, as in the register tensor's [`Distribution`].
    pub tile: Vec<i64>,
    /// `[thread, value, issue]` → index in `tile`: the elements at each thread's address. The values are contiguous in
    /// memory.
    pub memory: Layout,
    /// `[value, issue]` → position among the values of the thread in the register tensor.
    pub register: Layout,
    /// For each companion of the operation (`companions` of its [description](crate::OpKind::description)): `[issue]` → position among the values of the thread in
    /// that tensor, with the modes of `register`.
    pub companions: Vec<Layout>,
    /// The shared memory through which threads get the elements that another thread's atomic access returned; `None` if no
    /// thread needs it.
    pub spread: Option<Scratch>,
    /// Bytes that one address covers.
    pub bytes: u32,
    /// Bank conflicts; `None` for global memory.
    pub conflicts: Option<Conflicts>,
    pub reason: Reason,
}

/// The boxes in which one thread copies a tile between global and shared memory. A bulk copy moves a whole box.
///
/// A box is compact in shared memory, the first of `dims` fastest, under the swizzle of the shared tensor, which is one that the
/// hardware has. Boxes tile the copy's tile: along a dimension that the view of global memory walks with `extent` steps there are
/// `extent / box extent` boxes. The coordinates of a box are those of its first element in the view of global memory; its address
/// is the place of that element in shared memory.
///
/// Runs are boxes whose elements lie one after the other in global memory, too. All their elements are inside of the tensor, and
/// shared memory has no swizzle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BulkChoice {
    /// The bulk row of the catalogue.
    pub row: Row<BulkRow>,
    /// The row takes runs, and no tensor map.
    pub runs: bool,
    /// All dimensions of the tensor in global memory, the contiguous one first.
    pub dims: Vec<usize>,
    /// The extent of a box along each of `dims`; 1 for a dimension that the view does not walk.
    pub extents: Vec<u32>,
    /// The mode of the view of global memory whose boxes the blocks of a cluster deal out among each other. Of `n` blocks along
    /// the axis of the copy, the block with the coordinate `r` brings the `r`-th of `n` equal runs of boxes along this mode to all
    /// of them. `None` if each block brings the whole tile for itself.
    pub share: Option<usize>,
    pub reason: Reason,
}

/// The instruction of a prefetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrefetchChoice {
    pub row: Row<PrefetchRow>,
    /// All dimensions of the tensor, the contiguous one first; empty if the threads fetch lines.
    pub dims: Vec<usize>,
    /// The extent of a box along each of `dims`.
    pub extents: Vec<u32>,
    pub reason: Reason,
}

/// The wavefronts of shared memory in one execution of an operation, over all warps and issues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conflicts {
    pub wavefronts: u64,
    /// The wavefronts that the same bytes would take without conflicts.
    pub ideal: u64,
}

/// The instruction of a gemm and its repetitions over the tile.
#[derive(Clone, PartialEq, Debug)]
pub struct GemmChoice {
    pub row: Row<GemmRow>,
    /// The number of units along M, N and the batch. A unit has as many threads as the instruction: a warp, several warps or
    /// one thread.
    pub arrangement: [i64; 3],
    /// In registers: `[value, m issue, k issue, batch issue]` → position among the thread's values of A.
    pub a: OperandChoice,
    /// In registers: `[value, n issue, k issue, batch issue]` → position among the thread's values of B.
    pub b: OperandChoice,
    /// `[value, m issue, n issue, batch issue]` → position among the thread's values of C.
    pub c: Layout,
    /// Issues along M, N, K and the batch.
    pub issues: [i64; 4],
    /// The operands that arrive while the product walks along K; `None` if all are complete before it starts.
    pub stream: Option<Stream>,
    pub reason: Reason,
}

/// The way in which the instructions of a product read an operand.
#[derive(Clone, PartialEq, Debug)]
pub enum OperandChoice {
    /// From the registers of the threads.
    Registers(Layout),
    /// From shared memory, by a descriptor for each instruction. The solved layout of the shared tensor has the form of the
    /// row.
    Descriptor { reach: Row<ReachRow> },
}

impl OperandChoice {
    /// Returns the positions of an operand in registers; `None` for one that a descriptor names.
    pub fn registers(&self) -> Option<&Layout> {
        match self {
            OperandChoice::Registers(positions) => Some(positions),
            OperandChoice::Descriptor { .. } => None,
        }
    }
}

/// A product that loads its register operands from shared memory slice by slice along K. While one slice is multiplied, the next is
/// loaded, so that only two slices of a fragment are live.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    /// The copies that fill the operands. They stand right before the product, and no other operation reads their tensors.
    pub loads: Vec<OpId>,
    /// Steps of K in a slice. The product has at least two slices.
    pub depth: i64,
}

impl GemmChoice {
    /// Formats the units along M and N, and along the batch if there are several: `2×2`, `1×1×8`.
    pub fn across(&self) -> String {
        match self.arrangement {
            [m, n, 1] => format!("{m}×{n}"),
            [m, n, batch] => format!("{m}×{n}×{batch}"),
        }
    }
}

/// The instruction of a conversion and its repetitions: each issue converts several neighbouring values of a thread.
#[derive(Clone, PartialEq, Debug)]
pub struct ConvertChoice {
    /// The row of the catalogue; `None` for a plain move, and for conversions that are made one element at a time.
    pub row: Option<Row<ConvertRow>>,
    /// `[value, issue]` → position among the thread's values of the source.
    pub src: Layout,
    /// `[value, issue]` → position among the thread's values of the destination.
    pub dst: Layout,
    pub reason: Reason,
}

impl Route {
    /// Returns the rows of the catalogue that the route uses.
    pub fn rows(&self) -> Vec<&str> {
        match self {
            Route::Within(_) | Route::Renamed(_) => vec![],
            Route::Lanes(lanes) => vec![&lanes.row.get().name],
            Route::Matrices { row, .. } => vec![&row.get().name],
            Route::Shared { store, load } => vec![&store.row.get().name, &load.row.get().name],
        }
    }
}

//! The instructions of a thread program, with their registers and addresses.

use hx_index::{Cond, Expr};
use hx_target::{Cache, ConvertRow, CopyRow, ExchangeRow, GemmRow, ReachRow, Row, SyncRow};
use hx_tile::{MemoryOrder, MemoryScope, Scalar};

use crate::Address;

/// The threads that arrive on a barrier in memory, and the time at which they do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Arrivals {
    /// Every thread, when the asynchronous copies that it has issued up to now have arrived.
    Copies,
    /// One thread of each warp, when all threads of the warp are there.
    Warps,
    /// One thread of each 128, when it comes: it waits for no other.
    Groups,
}

/// The warps of a scope that wait for a phase.
///
/// A wait compares parities, and each warp goes on by itself. A warp that comes one phase late waits for a phase that may never end. So
/// all warps wait only if the next phase needs each of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Waiters {
    All,
    /// The warp whose first thread makes the bulk copies of the scope. The others go on.
    First,
}

/// A register array of a thread program, by position in [`crate::ThreadProgram::registers`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RegId(pub u32);

/// Puts one element of each thread whose guard holds into the record of a print, or checks that it is true for an assertion.
#[derive(Clone, PartialEq, Debug)]
pub struct Put {
    /// The entry of the enclosing [`crate::Log`], a position in [`crate::ThreadProgram::log`].
    pub entry: u32,
    /// The element, a single value.
    pub value: Registers,
    /// The row-major position in the entry's tensor. No two threads of a group put the same position.
    pub position: Expr,
    pub guard: Cond,
    /// The two numbers that an assertion compares, a single value each; empty for all other entries.
    pub sides: Vec<Registers>,
}

/// Evaluates an expression within each thread: for one element, or for several side by side. Value `i` of the result is
/// computed from value `i` of each operand.
#[derive(Clone, PartialEq, Debug)]
pub struct Compute {
    /// A single value; or several, if every operator has a row for that many.
    pub dst: Registers,
    /// The operands that [`Scalar::Input`] refers to, each with as many values as `dst`. No [`Scalar::Index`] is left; a
    /// [`Scalar::Integer`] may depend on the thread.
    pub inputs: Vec<Registers>,
    pub value: Scalar,
}

/// The lane that a thread gets a value from.
#[derive(Clone, PartialEq, Debug)]
pub enum Lane {
    /// The lane whose number differs by this mask.
    Xor(u32),
    /// The lane this many below. A thread without such a lane keeps its own value.
    Up(u32),
    /// The lane with this number.
    At(Expr),
    /// For each value the lane that the row's layouts determine.
    Tile,
}

/// Gives each thread values of another thread of its warp: one value, or as many as fill a register.
#[derive(Clone, PartialEq, Debug)]
pub struct Exchange {
    pub row: Row<ExchangeRow>,
    pub dst: Registers,
    /// Has as many values as `dst`.
    pub src: Registers,
    pub lane: Lane,
}

/// A copy from global to shared memory without registers. It completes when a [`crate::Leaf::Wait`] covers its group, or a
/// [`crate::Leaf::Await`] the barrier that it signals.
#[derive(Clone, PartialEq, Debug)]
pub struct AsyncCopy {
    pub row: Row<CopyRow>,
    /// The barrier at which the copy arrives, by the next [`crate::Leaf::Arrive`] of its kind; `None` if the copy joins a group.
    pub signals: Option<u32>,
    pub src: Address,
    pub dst: Address,
    /// Threads for which it fails do nothing.
    pub active: Cond,
    /// If it fails, the destination becomes zero and the source is not read.
    pub inside: Cond,
    /// The hints for the caches of global memory.
    pub cache: Cache,
}

/// Values of one register array that an instruction reads or writes: value `i` is element `base + offsets[i]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Registers {
    pub array: RegId,
    /// Constant once the counters of unrolled loops are constant.
    pub base: Expr,
    pub offsets: Vec<u32>,
}

/// A copy instruction of the catalogue: a load, a store or an atomic access. With a collective row, the lanes of a warp
/// exchange the values they hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Transfer {
    pub row: Row<CopyRow>,
    pub registers: Registers,
    pub address: Address,
    /// Threads for which it fails do not access memory; a load sets their registers to `pad`. A collective row never has a
    /// guard.
    pub guard: Cond,
    /// The value for threads whose guard fails, as bits of the element type.
    pub pad: u64,
    /// The operands of an atomic row beside the registers that it moves; `None` for other rows.
    pub atomic: Option<AtomicUse>,
    /// The hints for the caches of global memory; none for an access to other memory.
    pub cache: Cache,
}

/// The operands and the meaning of an atomic access.
#[derive(Clone, PartialEq, Debug)]
pub struct AtomicUse {
    /// The value that a compare-exchange expects; `None` for other operations.
    pub compare: Option<Registers>,
    /// Gets the element as it was before; `None` if no thread uses it. Threads whose guard fails get the padding.
    pub old: Option<Registers>,
    pub order: MemoryOrder,
    pub scope: MemoryScope,
}

/// Stores 16 bytes of each thread in the shared memory of another block of the cluster, and does not wait for it. The barrier there
/// counts the bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct SendChunk {
    pub row: Row<SyncRow>,
    pub registers: Registers,
    /// The place in the shared memory of the other block.
    pub address: Address,
    /// The rank of the other block.
    pub block: Expr,
    /// The barrier of the other block, a position in [`crate::ThreadProgram::barriers`], and its stage.
    pub barrier: (u32, Expr),
}

/// A matrix instruction of the catalogue. It updates the accumulator in place.
#[derive(Clone, PartialEq, Debug)]
pub struct Multiply {
    pub row: Row<GemmRow>,
    pub c: Registers,
    pub a: Registers,
    pub b: Registers,
}

/// An asynchronous matrix instruction of the catalogue. It joins the current group. Until a [`crate::Leaf::WaitProducts`] covers the
/// group, only further asynchronous products access the accumulator, and nothing changes the operands.
#[derive(Clone, PartialEq, Debug)]
pub struct MultiplyAsync {
    pub row: Row<GemmRow>,
    pub c: Registers,
    pub a: Source,
    pub b: Descriptor,
    /// If it fails, the product replaces the accumulator instead of being added to it. It is uniform over the threads of the
    /// scope.
    pub keep: Cond,
}

/// The memory from which an asynchronous matrix instruction reads an operand.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    Registers(Registers),
    Descriptor(Descriptor),
}

/// An operand in shared memory. The instruction adds the offsets of its elements, as the reach says, to the byte address of
/// the start, and applies the reach's swizzle to the sum.
#[derive(Clone, PartialEq, Debug)]
pub struct Descriptor {
    /// The place of the first element, before the swizzle. It is the same for all threads that execute the instruction
    /// together.
    pub start: Address,
    /// The form in which the elements lie.
    pub reach: Row<ReachRow>,
    /// The leading byte offset, stride `L` of the reach.
    pub lbo: u32,
    /// The stride byte offset, stride `S` of the reach.
    pub sbo: u32,
}

/// An order between accesses that the hardware does not keep by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fence {
    /// Accesses of the threads to registers precede those of asynchronous products after it.
    Products,
    /// Accesses of the threads to shared memory precede those that instructions make through the asynchronous proxy, once a
    /// barrier has ordered them.
    Proxy,
    /// As `Proxy`, accesses to global memory.
    GlobalProxy,
}

/// A conversion within each thread.
#[derive(Clone, PartialEq, Debug)]
pub struct Convert {
    /// The row; `None` for a move between equal types.
    pub row: Option<Row<ConvertRow>>,
    pub dst: Registers,
    pub src: Registers,
}

/// Sets elements to a constant.
#[derive(Clone, PartialEq, Debug)]
pub struct Fill {
    pub dst: Registers,
    /// The bits of the constant in the element type.
    pub bits: u64,
}

impl MultiplyAsync {
    /// Returns the operands that the instruction reads from shared memory.
    pub fn descriptors(&self) -> impl Iterator<Item = &Descriptor> {
        let a = match &self.a {
            Source::Registers(_) => None,
            Source::Descriptor(descriptor) => Some(descriptor),
        };
        a.into_iter().chain([&self.b])
    }
}

//! The compiled form of a thread program for one launch: names are resolved, rows looked up, expressions compiled.
//!
//! This module holds data only: `compile` builds it and `step` runs it.

mod counter;
pub(crate) mod evaluate;
mod step;

use std::collections::BTreeMap;
use std::sync::Arc;

use hx_dtype::{AtomicOp, DType};
use hx_index::Symbol;
use hx_layout::Swizzle;
use hx_target::{AsynchronousAccess, Form, Target};
use hx_tensor_map::TensorMap;
use hx_thread::{LogEntry, Warps};
use hx_tile::{MemoryOrder, OpId, Origin};

pub(crate) use counter::{CounterCode, DrawCode};
use evaluate::Evaluate;
pub(crate) use step::{DrawnCode, Step, Written};

use crate::error::{Access, AccessMode, Copying, Place};
use crate::formula::{Formula, Test};

/// Position in [`Code::sites`].
pub(crate) type SiteId = u32;

#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) threads: usize,
    pub(crate) target: Target,
    /// The blocks of a cluster along each axis if they run together; otherwise `[1, 1, 1]`.
    pub(crate) cluster: [u32; 3],
    pub(crate) sites: Vec<Site>,
    pub(crate) slots: usize,
    pub(crate) lanes: usize,
    pub(crate) arrays: Vec<Array>,
    pub(crate) shared: Vec<Shared>,
    pub(crate) shared_bytes: usize,
    /// The narrowest access to shared memory, in bytes. Every access is a multiple of it.
    pub(crate) granule: usize,
    /// Whether some copy into shared memory is asynchronous.
    pub(crate) asynchronous: bool,
    /// Whether blocks see what others did to global memory: atomic accesses return values, order other accesses, or are atomic among
    /// few threads.
    pub(crate) communicates: bool,
    /// Whether the grid or a requirement counts multiprocessors: all blocks may run at the same time.
    pub(crate) counts_multiprocessors: bool,
    /// The tensor maps of the program, with the numbers of the launch.
    pub(crate) maps: Vec<TensorMap>,
    pub(crate) barriers: Vec<hx_thread::Barrier>,
    pub(crate) named: BTreeMap<u32, String>,
    pub(crate) counters: Vec<CounterCode>,
    /// The number of blocks along each axis.
    pub(crate) grid: [u64; 3],
    /// The prints and assertions of the program.
    pub(crate) log: Vec<LogEntry>,
    /// The warps of each agent besides that of all threads.
    pub(crate) parties: Vec<Warps>,
    /// The slots of integers that the program names.
    pub(crate) names: Vec<(u32, Symbol)>,
    /// Whether the agent of all threads uses each array.
    pub(crate) own: Vec<bool>,
    pub(crate) body: Vec<Step>,
}

impl Code {
    /// Returns the number of threads from the first thread of a block to that of the next on the clock of a cluster. A group of
    /// threads that act together begins at a multiple of its size.
    pub(crate) fn stride(&self) -> usize {
        self.threads.next_multiple_of(self.target.limits.group as usize)
    }

    /// Returns the number, within its block, of a thread on the clock.
    pub(crate) fn own(&self, thread: u32) -> u32 {
        thread % self.stride() as u32
    }

    /// Returns the counter whose tickets a barrier guards; `None` if the barrier belongs to no counter.
    pub(crate) fn counter_of(&self, barrier: usize) -> Option<&CounterCode> {
        self.counters.iter().find(|counter| [counter.full, counter.empty].contains(&barrier))
    }
}

/// The part of global memory that a bulk copy moves.
#[derive(Debug)]
pub(crate) enum PartCode {
    Box {
        /// Position in [`Code::maps`].
        map: usize,
        coordinates: Vec<Formula>,
    },
    Run {
        /// The offset of the first element in the tensor.
        offset: Formula,
        bytes: usize,
    },
}

/// A bulk copy between global and shared memory.
#[derive(Debug)]
pub(crate) struct BulkCode {
    pub(crate) site: SiteId,
    /// Position among the tensors of the launch.
    pub(crate) tensor: usize,
    /// Bits of an element of the tensors. A map of a tensor with elements narrower than a byte has bytes as its elements.
    pub(crate) bits: usize,
    pub(crate) part: PartCode,
    /// Position among the shared tensors.
    pub(crate) shared: usize,
    /// The first element in shared memory.
    pub(crate) offset: Formula,
    /// The asynchronous accesses of the copy to global and to shared memory.
    pub(crate) global: AsynchronousAccess,
    pub(crate) local: AsynchronousAccess,
    /// The ranks of the blocks that a load goes to; none for the block alone.
    pub(crate) blocks: Vec<Formula>,
}

/// The place in the program that statements belong to: a tile operation, or a `while`, a draw or a loop over drawn numbers,
/// which have no `op`. Site 0 means that they belong to none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    pub(crate) op: Option<OpId>,
    pub(crate) origin: Option<Origin>,
    pub(crate) title: String,
    /// Whether an atomic access of the operation acquires.
    pub(crate) acquires: bool,
}

impl Site {
    pub(crate) fn place(&self, block: Option<[u32; 3]>, thread: Option<u32>) -> Place {
        Place { op: self.op, origin: self.origin, title: self.title.clone(), block, thread }
    }

    pub(crate) fn access(&self, thread: u32, mode: AccessMode, collective: bool) -> Access {
        Access { thread, mode, collective, op: self.op, origin: self.origin, title: self.title.clone() }
    }

    pub(crate) fn copying(&self, thread: u32) -> Copying {
        Copying { thread, op: self.op, origin: self.origin, title: self.title.clone() }
    }
}

#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) len: usize,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) bits: usize,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// The body of a role, which only the threads of its groups run.
#[derive(Debug)]
pub(crate) struct RoleCode {
    /// The number of its first thread.
    pub(crate) first: usize,
    /// The number of threads of one group.
    pub(crate) threads: usize,
    pub(crate) groups: usize,
    /// The slot of the number of the group within the role; `None` if the body has no name for it.
    pub(crate) index: Option<u32>,
    /// Whether the role uses each array.
    pub(crate) own: Vec<bool>,
    pub(crate) body: Vec<Step>,
}

/// Logs one element of a print or an assertion, for each thread whose guard holds.
#[derive(Debug)]
pub(crate) struct Put {
    pub(crate) site: SiteId,
    /// Position in [`Code::log`].
    pub(crate) entry: usize,
    pub(crate) value: Regs,
    pub(crate) position: Formula,
    pub(crate) guard: Test,
    /// The two numbers that an assertion compares; empty for all other entries.
    pub(crate) sides: Vec<Regs>,
    /// Bytes of one element.
    pub(crate) width: usize,
    /// Number of elements in the record.
    pub(crate) elements: u64,
}

/// The registers that an instruction names, in every thread.
#[derive(Debug)]
pub(crate) struct Regs {
    pub(crate) array: usize,
    pub(crate) base: Formula,
    pub(crate) offsets: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mem {
    /// Position among the tensors of the launch.
    Global(usize),
    Shared(usize),
}

#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) site: SiteId,
    pub(crate) load: bool,
    pub(crate) memory: Mem,
    pub(crate) regs: Regs,
    pub(crate) offset: Formula,
    pub(crate) guard: Test,
    pub(crate) pad: u64,
    pub(crate) dtype: DType,
    /// The operation of an atomic transfer; `None` for other transfers.
    pub(crate) atomic: Option<AtomicCode>,
    /// Bytes that one address covers.
    pub(crate) access: usize,
    /// Bytes that one lane holds in registers.
    pub(crate) bytes: usize,
    /// The exchange of the addressed elements between lanes; `None` if each lane keeps its own.
    pub(crate) exchange: Option<Arc<Exchange>>,
}

/// The part of an atomic transfer beside the move of its registers.
#[derive(Debug)]
pub(crate) struct AtomicCode {
    pub(crate) op: AtomicOp,
    /// The value that a compare-exchange expects; `None` for other operations.
    pub(crate) compare: Option<Regs>,
    /// Gets the element as it was before; `None` if the instruction does not return it.
    pub(crate) old: Option<Regs>,
    pub(crate) order: MemoryOrder,
    /// Whether it is atomic among fewer threads than those of the device.
    pub(crate) narrow: bool,
}

/// Says which lane of a collective transfer holds which of the addressed elements.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Number of lanes that execute one instruction.
    pub(crate) lanes: usize,
    /// The lanes whose address counts, in ascending order.
    pub(crate) owners: Vec<usize>,
    /// At `value · lanes + lane`: the lane whose address covers that element, and the element's position there.
    pub(crate) sources: Vec<(u32, u32)>,
}

#[derive(Debug)]
pub(crate) struct Multiply {
    pub(crate) site: SiteId,
    pub(crate) c: Regs,
    pub(crate) a: Regs,
    pub(crate) b: Regs,
    pub(crate) row: Arc<Product>,
}

/// A matrix instruction that reads operands from shared memory, and is complete at a wait.
#[derive(Debug)]
pub(crate) struct MultiplyAsync {
    pub(crate) site: SiteId,
    pub(crate) c: Regs,
    pub(crate) a: Factor,
    pub(crate) b: Operand,
    /// If it fails, the accumulator counts as 0.
    pub(crate) keep: Test,
    /// Without a table for B, and for A if it is in shared memory.
    pub(crate) row: Arc<Product>,
}

#[derive(Debug)]
pub(crate) enum Factor {
    Registers(Regs),
    Shared(Operand),
}

/// An operand in shared memory, as its descriptor addresses it.
#[derive(Debug)]
pub(crate) struct Operand {
    /// Position among the shared tensors.
    pub(crate) tensor: usize,
    /// The offset of the first element in the shared tensor, in elements, before the swizzle.
    pub(crate) start: Formula,
    /// For each element of the dense operand, in the order of the loop: its distance in bytes from the start.
    pub(crate) places: Vec<i64>,
    /// The distances in bytes from the start at which the chunks begin that hold these elements, in ascending order.
    pub(crate) chunks: Vec<i64>,
    /// Permutes byte addresses.
    pub(crate) swizzle: Swizzle,
    pub(crate) dtype: DType,
}

impl Operand {
    /// Bytes of a chunk, which no swizzle takes apart.
    pub(crate) const CHUNK: usize = 16;
}

/// A matrix instruction with its fragments enumerated. Each table holds, at `value · lanes + lane`, a position in a dense
/// operand.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) lanes: usize,
    /// `[m, n, k]`.
    pub(crate) shape: [usize; 3],
    /// Positions in `A[m][k]`, k fastest.
    pub(crate) a: Vec<u32>,
    /// Positions in `B[k][n]`, n fastest.
    pub(crate) b: Vec<u32>,
    /// Positions in `C[m][n]`, n fastest.
    pub(crate) c: Vec<u32>,
    pub(crate) types: [DType; 3],
    pub(crate) form: Form,
}

#[derive(Debug)]
pub(crate) struct Convert {
    pub(crate) site: SiteId,
    pub(crate) dst: Regs,
    pub(crate) src: Regs,
    /// `None` for a move, which converts nothing.
    pub(crate) types: Option<(DType, DType)>,
}

#[derive(Debug)]
pub(crate) struct Fill {
    pub(crate) site: SiteId,
    pub(crate) dst: Regs,
    pub(crate) bits: u64,
}

/// The source lane of an exchange.
#[derive(Debug)]
pub(crate) enum From {
    /// Lane `i ^ mask`. The compiler has checked that this lane exists for every thread.
    Xor(usize),
    /// Lane `i - n`, or lane `i` itself where `i < n`.
    Up(usize),
    /// The lane with this number.
    At(Formula),
    /// For each value and each lane: the lane that holds the value, and the value's number there.
    Tile(Vec<Vec<(i64, i64)>>),
}

/// Gives each lane of a warp the value of another lane.
#[derive(Debug)]
pub(crate) struct LaneExchange {
    pub(crate) site: SiteId,
    pub(crate) dst: Regs,
    pub(crate) src: Regs,
    pub(crate) from: From,
    /// Instructions that each warp issues for the exchange.
    pub(crate) parts: u64,
}

#[derive(Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) site: SiteId,
    /// Whether the copy signals a barrier in memory instead of joining a group.
    pub(crate) signals: bool,
    /// Position among the tensors of the launch.
    pub(crate) src: usize,
    pub(crate) src_offset: Formula,
    /// Position among the shared tensors.
    pub(crate) dst: usize,
    pub(crate) dst_offset: Formula,
    pub(crate) active: Test,
    pub(crate) inside: Test,
    pub(crate) dtype: DType,
    /// Bytes that one thread copies.
    pub(crate) access: usize,
}

/// Sends 16 bytes of each thread to another block of the cluster.
#[derive(Debug)]
pub(crate) struct SendCode {
    pub(crate) site: SiteId,
    pub(crate) regs: Regs,
    /// Position among the shared tensors.
    pub(crate) tensor: usize,
    pub(crate) offset: Formula,
    pub(crate) dtype: DType,
    /// The rank of the other block.
    pub(crate) block: Formula,
    pub(crate) barrier: usize,
    pub(crate) index: Formula,
}

/// Sets a number of the block. Every thread evaluates it, and all threads must agree.
#[derive(Debug)]
pub(crate) struct SetNumber {
    pub(crate) slot: u32,
    /// The type of the number.
    pub(crate) dtype: DType,
    /// The name, for messages.
    pub(crate) name: String,
    /// The expression. Its result goes to the slot, not to a register.
    pub(crate) value: Evaluate,
}

/// Reads an integer in each thread; a thread whose guard fails gets -1.
#[derive(Debug)]
pub(crate) struct LoadIndex {
    pub(crate) site: SiteId,
    pub(crate) lanes: u32,
    pub(crate) memory: Mem,
    pub(crate) offset: Formula,
    pub(crate) guard: Test,
    pub(crate) dtype: DType,
}

/// Reads an integer of each thread from its registers.
#[derive(Debug)]
pub(crate) struct ReadIndex {
    pub(crate) site: SiteId,
    pub(crate) lanes: u32,
    pub(crate) regs: Regs,
    pub(crate) dtype: DType,
}

/// Reads a uniform number from a tensor that no block changes.
#[derive(Debug)]
pub(crate) struct LoadInteger {
    pub(crate) site: SiteId,
    pub(crate) slot: u32,
    /// Position among the tensors of the launch.
    pub(crate) tensor: usize,
    pub(crate) offset: Formula,
    pub(crate) dtype: DType,
}

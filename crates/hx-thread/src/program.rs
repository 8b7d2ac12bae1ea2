//! The data of a thread program.

use std::collections::BTreeMap;

use hx_dtype::DType;
use hx_index::{Cond, Expr, Symbol};
use hx_target::{ConvertRow, CopyRow, ExchangeRow, GemmRow, ReachRow, Row, SyncRow, Target};
use hx_tile::{
    MemoryOrder, MemoryScope, OpId, Origin, Requirement, Scalar, Scope, ScopeId, TensorId, barriers_of,
};

use crate::{Address, Bulk, BulkStore, Counter, Draw, Drawn, LogEntry, Memory, TensorMap};

/// A kernel, as every thread runs it.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadProgram {
    /// The kernel's name in the source.
    pub name: String,
    /// The architecture that the program is for.
    pub target: Target,
    /// In launch order: a pointer for each tensor, a value for each number. The kernel takes every symbol of
    /// [`ThreadProgram::symbols`] after them, as a 32-bit integer.
    pub params: Vec<Param>,
    /// The dimensions and strides that a parameter or the grid names, and the number of multiprocessors if the program reads
    /// it, in a fixed order. A launch binds them to values below 2³¹.
    pub symbols: Vec<Symbol>,
    /// The number of blocks along x, y and z, in terms of the symbols.
    pub grid: Vec<Expr>,
    /// The number of blocks of a cluster along x, y and z; `[1, 1, 1]` without clusters.
    pub cluster: [u32; 3],
    /// The scopes of the block, indexed by [`ScopeId`]. The first is the block.
    pub scopes: Vec<Scope>,
    /// The number of blocks that should fit a multiprocessor together, as far as registers go.
    pub blocks: u32,
    /// The conditions that a launch must satisfy.
    pub requires: Vec<Requirement>,
    pub shared: Vec<SharedBuffer>,
    /// The bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The tensors of global memory that bulk copies address. The kernel takes them after the symbols.
    pub maps: Vec<TensorMap>,
    /// The barriers in shared memory. They are ready before the body begins.
    pub barriers: Vec<Barrier>,
    /// The counters that blocks draw from.
    pub counters: Vec<Counter>,
    /// The least and the greatest value of some locals that change.
    pub ranges: BTreeMap<Symbol, (i64, i64)>,
    /// The register tensors and the temporaries, indexed by [`RegId`].
    pub registers: Vec<RegisterArray>,
    /// The prints and assertions. If there are any, the kernel takes the address of a buffer as its last argument.
    pub log: Vec<LogEntry>,
    pub body: Body,
}

/// A parameter of the kernel that the source names. A launch also passes [`ThreadProgram::symbols`] and [`ThreadProgram::maps`].
#[derive(Clone, PartialEq, Debug)]
pub enum Param {
    Tensor(TensorParam),
    /// A run-time number, passed by value.
    Scalar {
        name: String,
        dtype: DType,
    },
}

/// A tensor in global memory.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorParam {
    pub name: String,
    pub dtype: DType,
    pub mutable: bool,
    pub shape: Vec<Expr>,
    pub stride: Vec<Expr>,
    /// The alignment in bytes that a launch must give the pointer.
    pub align: u32,
}

/// A tensor in shared memory, or memory through which threads or blocks exchange values.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedBuffer {
    pub name: String,
    pub dtype: DType,
    /// The offset of the first byte in the block's shared memory.
    pub offset: u32,
    pub bytes: u32,
}

/// Barriers in shared memory that count arrivals: one of 8 bytes for each stage of a pipeline, for each ticket of a counter,
/// or for each group of a sum over the cluster. The barriers *empty* of a sum are one for each group and each target.
#[derive(Clone, PartialEq, Debug)]
pub struct Barrier {
    pub kind: BarrierKind,
    /// The name of the pipeline or the counter, or `sum`.
    pub pipe: String,
    pub stages: u32,
    /// The arrivals that complete a phase.
    pub count: u32,
    /// The offset of the first stage's barrier in the block's shared memory.
    pub at: u32,
    /// The place where the pipeline or the counter was made, or the first sum.
    pub origin: Origin,
    /// Whether it is a barrier of sums over the cluster. Then other blocks arrive at it.
    pub sums: bool,
}

/// The event for which a barrier counts arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum BarrierKind {
    /// The copies into a stage have arrived, the number of a ticket is there, or the slots of a sum are full.
    Full,
    /// The readers have released a stage, have read a ticket, or have added the slots of a sum.
    Empty,
}

impl BarrierKind {
    /// Returns the word for the event, as in `full`.
    pub fn word(self) -> &'static str {
        match self {
            BarrierKind::Full => "full",
            BarrierKind::Empty => "empty",
        }
    }
}

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

/// A register array of a thread program, by position in [`ThreadProgram::registers`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RegId(pub u32);

/// The elements that each thread holds of a register tensor or a temporary. Elements narrower than 32 bits are packed, lowest
/// first, into 32-bit words.
#[derive(Clone, PartialEq, Debug)]
pub struct RegisterArray {
    pub name: String,
    pub dtype: DType,
    /// The number of elements of one thread.
    pub len: u32,
    /// The threads that hold them.
    pub scope: ScopeId,
    /// The register tensor of the tile program; `None` for temporaries.
    pub tensor: Option<TensorId>,
}

/// Statements that run in this order.
pub type Body = Vec<Stmt>;

/// A statement of a thread program. All threads of the scope that contains it reach it; guards select the threads that act.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// The statements of one tile operation.
    Group(Group),
    /// Defines a local integer, in scope until the end of the body that contains the statement.
    Let {
        var: Symbol,
        value: Expr,
    },
    /// Runs `for var in start..end`. With `unroll`, the bounds are constant and register positions may depend on `var`.
    For {
        var: Symbol,
        start: Expr,
        end: Expr,
        unroll: bool,
        body: Body,
    },
    /// Branches on a condition that is uniform over the threads that reach it.
    If {
        cond: Cond,
        then: Body,
        otherwise: Body,
    },
    /// Waits for all threads of the scope that executes it: that of the operation, or the block outside of operations.
    Barrier,
    /// Waits for all threads of the warp.
    WarpBarrier,
    /// Defines a local integer with the value that the first lane of a warp computes. All lanes of a warp compute the same, so
    /// this only tells the hardware that they do.
    Uniform {
        var: Symbol,
        value: Expr,
    },
    Transfer(Transfer),
    Multiply(Multiply),
    /// Starts a matrix product and does not wait for it.
    MultiplyAsync(MultiplyAsync),
    Fence(Fence),
    /// Closes the current group of asynchronous products of the scope.
    CommitProducts,
    /// Waits until at most `leave` groups of asynchronous products are in flight. Threads may then access `completes`: the
    /// accumulators and operands of the products that are complete on every path, whole arrays.
    WaitProducts {
        leave: u32,
        completes: Vec<Registers>,
    },
    Convert(Convert),
    Fill(Fill),
    Compute(Compute),
    Exchange(Exchange),
    AsyncCopy(AsyncCopy),
    /// Closes the current group of asynchronous copies of each thread.
    Commit,
    /// Makes each thread wait until at most `groups` of its groups are in flight. Data that other threads copied also need a
    /// barrier.
    Wait {
        groups: u32,
    },
    /// Sends registers to another block of the cluster.
    Send(SendChunk),
    Bulk(Bulk),
    BulkStore(BulkStore),
    /// Closes the current group of bulk copies of each thread.
    BulkCommit,
    /// Makes each thread wait until at most `leave` of its groups of bulk copies are in flight; with `read`, until at most `leave` of them
    /// still read shared memory.
    BulkWait {
        leave: u32,
        read: bool,
    },
    /// Makes each thread wait until the launches before are complete and their writes are visible to it.
    WaitPrevious,
    /// Lets the next launch start its blocks once a thread of each block has come here, or the block has ended.
    AllowNext,
    /// Runs while the condition holds. The condition is uniform over the threads that reach it. The origin is that of the
    /// condition in the text, if the loop has one there.
    While {
        cond: Cond,
        body: Body,
        origin: Option<Origin>,
    },
    /// Changes a local integer.
    Assign {
        var: Symbol,
        value: Expr,
    },
    /// Defines a local number with the value of one element of a global tensor, the same for the block. Its type is the
    /// tensor's.
    LoadInteger {
        var: Symbol,
        address: Address,
    },
    /// Defines an integer that each thread reads for itself, from a tensor that no thread writes meanwhile. It is -1 in
    /// threads whose guard fails.
    LoadIndex {
        var: Symbol,
        address: Address,
        guard: Cond,
    },
    /// Defines an integer in each thread with the value of an element that it holds.
    ReadIndex {
        var: Symbol,
        src: Registers,
    },
    /// Defines a local number of the value's type, the same for all threads that reach it. Its inputs are single elements. In
    /// expressions of integers a truth value is 1 or 0.
    LetNumber {
        var: Symbol,
        value: Scalar,
        inputs: Vec<Registers>,
    },
    /// Changes a local number.
    AssignNumber {
        var: Symbol,
        value: Scalar,
    },
    Log(Log),
    Put(Put),
    /// Waits until the phase of this parity of a barrier is complete. `barrier` is a position in
    /// [`ThreadProgram::barriers`], `index` selects one of its stages. At first, parity 1 means the phase before the
    /// first, which is complete.
    Await {
        barrier: u32,
        index: Expr,
        parity: Expr,
        by: Waiters,
    },
    /// Arrives on a barrier of the blocks with these ranks in the cluster; without ranks, on that of the executing block.
    Arrive {
        barrier: u32,
        index: Expr,
        by: Arrivals,
        blocks: Vec<Expr>,
    },
    /// One thread of the scope arrives on a barrier. The current phase then also waits for this many bytes of bulk copies and
    /// sends.
    Expect {
        barrier: u32,
        index: Expr,
        bytes: u32,
    },
    Draw(Draw),
    Drawn(Drawn),
    /// Different threads run different bodies. Only the last statement of a program's body is one.
    Roles(Vec<Role>),
    /// Waits at a named barrier until `threads` threads have arrived, those that wait among them.
    NamedSync {
        id: Expr,
        threads: u32,
    },
    /// Arrives at a named barrier and does not wait.
    NamedArrive {
        id: Expr,
        threads: u32,
    },
}

/// The task of some groups of threads. In its body [`Symbol::Thread`] is the number of a thread within the scope, from 0.
#[derive(Clone, PartialEq, Debug)]
pub struct Role {
    pub scope: ScopeId,
    /// The registers of each thread while it runs the body; `None` if the thread keeps those of the launch.
    pub registers: Option<u32>,
    /// The number of the group, from 0; `None` if the scope has one group.
    pub index: Option<Symbol>,
    pub lanes: Lanes,
    pub body: Body,
}

/// The threads of a role that run its body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lanes {
    All,
    /// The threads of the scope's first warp run the body. The other warps skip it.
    FirstWarp,
}

/// A single execution of a print or an assertion. Either all threads of its scope reach it together, or none does.
#[derive(Clone, PartialEq, Debug)]
pub struct Log {
    /// Position in [`ThreadProgram::log`].
    pub entry: u32,
    /// The coordinates of the elements, and the loops around the [`Stmt::Put`]s of this entry, which occur nowhere else. It
    /// is empty if the entry prints a text alone.
    pub body: Body,
}

/// Puts one element of each thread whose guard holds into the record of a print, or checks that it is true for an assertion.
#[derive(Clone, PartialEq, Debug)]
pub struct Put {
    /// The entry of the enclosing [`Log`], a position in [`ThreadProgram::log`].
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

/// A copy from global to shared memory without registers. It completes when a [`Stmt::Wait`] covers its group, or a
/// [`Stmt::Await`] the barrier that it signals.
#[derive(Clone, PartialEq, Debug)]
pub struct AsyncCopy {
    pub row: Row<CopyRow>,
    /// The barrier at which the copy arrives, by the next [`Stmt::Arrive`] of its kind; `None` if the copy joins a group.
    pub signals: Option<u32>,
    pub src: Address,
    pub dst: Address,
    /// Threads for which it fails do nothing.
    pub active: Cond,
    /// If it fails, the destination becomes zero and the source is not read.
    pub inside: Cond,
}

/// The statements of one tile operation. Only the threads of its scope execute them. In them, [`Symbol::Thread`] is the number
/// of a thread within the scope, from 0, and a barrier is one of the scope.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    pub op: OpId,
    pub scope: ScopeId,
    pub origin: Origin,
    /// The operation as text, for a comment.
    pub title: String,
    pub body: Body,
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
    /// The barrier of the other block, a position in [`ThreadProgram::barriers`], and its stage.
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

/// An asynchronous matrix instruction of the catalogue. It joins the current group. Until a [`Stmt::WaitProducts`] covers the
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

impl Default for ThreadProgram {
    /// Returns a program for the usual target without parameters, scopes and statements.
    fn default() -> ThreadProgram {
        ThreadProgram {
            name: String::new(),
            target: Target::usual(),
            params: Vec::new(),
            symbols: Vec::new(),
            grid: Vec::new(),
            cluster: [1, 1, 1],
            scopes: Vec::new(),
            blocks: 1,
            requires: Vec::new(),
            shared: Vec::new(),
            shared_bytes: 0,
            maps: Vec::new(),
            barriers: Vec::new(),
            counters: Vec::new(),
            ranges: BTreeMap::new(),
            registers: Vec::new(),
            log: Vec::new(),
            body: Vec::new(),
        }
    }
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

impl ThreadProgram {
    /// Returns a scope of the program.
    ///
    /// # Panics
    /// If the program has no such id among its scopes.
    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0 as usize]
    }

    /// Returns the numbers of the named barriers of a scope, one for each group.
    pub fn barriers_of(&self, id: ScopeId) -> std::ops::Range<u32> {
        barriers_of(&self.scopes, id)
    }

    /// Returns the number of threads of a block.
    pub fn block_threads(&self) -> u32 {
        self.scope(ScopeId::BLOCK).threads
    }

    /// Returns a register tensor of the program.
    ///
    /// # Panics
    /// If the program has no such id among its register tensors.
    pub fn array(&self, id: RegId) -> &RegisterArray {
        &self.registers[id.0 as usize]
    }

    /// Returns the element type of the tensor in a memory; `None` if the program has no such tensor.
    pub fn memory_dtype(&self, memory: Memory) -> Option<DType> {
        match memory {
            Memory::Global(p) => match self.params.get(p as usize)? {
                Param::Tensor(t) => Some(t.dtype),
                Param::Scalar { .. } => None,
            },
            Memory::Shared(s) => self.shared.get(s as usize).map(|b| b.dtype),
        }
    }
}

//! The statements of a thread program: control flow, and the leaves that act.

use hx_index::{Cond, Expr, Symbol};
use hx_tile::{OpId, Origin, Scalar, ScopeId};

use crate::{
    Address, Arrivals, AsyncCopy, Bulk, BulkStore, Compute, Convert, Draw, Exchange, Fence, Fill, Multiply,
    MultiplyAsync, Prefetch, Put, Registers, SendChunk, Transfer, Waiters,
};

/// Statements that run in this order.
pub type Body = Vec<Stmt>;

/// A statement of a thread program. All threads of the scope that contains it reach it; guards select the threads that act.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    Control(Control),
    Leaf(Leaf),
}

/// A statement that contains others. A walk that only passes through a program matches these.
#[derive(Clone, PartialEq, Debug)]
pub enum Control {
    /// The statements of one tile operation.
    Group(Group),
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
    /// Runs while the condition holds. The condition is uniform over the threads that reach it. The origin is that of the
    /// condition in the text, if the loop has one there.
    While {
        cond: Cond,
        body: Body,
        origin: Option<Origin>,
    },
    Drawn(Drawn),
    /// Different threads run different bodies. Only the last statement of a program's body is one.
    Roles(Vec<Role>),
}

/// A statement that contains no others. [`Leaf::description`] answers what several stages ask of one. Its text, its
/// CUDA code, its steps in the simulator and its events in a trace are the other places that tell all leaves apart.
#[derive(Clone, PartialEq, Debug)]
pub enum Leaf {
    /// Defines a local integer, in scope until the end of the body that contains the statement.
    Let {
        var: Symbol,
        value: Expr,
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
    Prefetch(Prefetch),
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
    /// [`crate::ThreadProgram::barriers`], `index` selects one of its stages. At first, parity 1 means the phase before the
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
    /// Position in [`crate::ThreadProgram::log`].
    pub entry: u32,
    /// The coordinates of the elements, and the loops around the [`crate::Leaf::Put`]s of this entry, which occur nowhere else. It
    /// is empty if the entry prints a text alone.
    pub body: Body,
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

/// Runs a body for each number that the block draws. Before each round every thread of the scope
///
/// 1. waits until the phase of parity `parity` of the full barrier of ticket `index` is complete;
/// 3. that thread arrives on the ticket's empty barrier;
/// 4. leaves the loop if `var` is not below the counter's limit.
///
/// `index` and `parity` are evaluated anew before each round: the body moves the locals in them on. In the body,
/// `0 <= var < limit`. A ticket orders no accesses but its own.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawn {
    pub var: Symbol,
    /// Position in [`ThreadProgram::counters`](crate::ThreadProgram::counters).
    pub counter: u32,
    pub index: Expr,
    pub parity: Expr,
    /// The place of the loop.
    pub origin: Origin,
    pub body: Body,
}

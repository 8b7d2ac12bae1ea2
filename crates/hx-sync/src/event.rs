//! The events of a trace: accesses to shared memory, and what orders them.

use std::rc::Rc;

use hx_thread::{Arrivals, Warps};
use hx_tile::{Completion, OpId};

use crate::once::Equation;

/// An event of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// An operation begins.
    Begin(OpId),
    /// An operation has begun all of its asynchronous copies.
    Begun(OpId),
    Access(Access),
    /// An asynchronous product begins to read these elements, and may read them until a wait covers it.
    Product(Access),
    /// Closes the current group of products.
    CommitProducts,
    /// Waits until at most this many groups of products are in flight.
    WaitProducts(u32),
    /// A barrier of the source.
    Barrier(OpId),
    /// A barrier of each warp on its own.
    WarpBarrier,
    Commit(OpId),
    /// The `if` that contains this commit ends here.
    Left(OpId),
    /// Waits until at most this many groups are in flight.
    Wait(OpId, u32),
    /// Waits for a phase of a barrier in memory: its position and its stage.
    Await(u32, i64),
    /// Arrives on a barrier in memory.
    Arrive(u32, i64, Arrivals),
    /// Exactly one of the two sequences happens, and only a launch decides which.
    /// [`Trace::conditions`](crate::trace::Trace::conditions) has the condition.
    Either(Vec<Event>, Vec<Event>),
    /// The events happen only in some threads. They count as synchronization of these warps, all of whose threads are among
    /// them.
    Only(Warps, Vec<Event>),
}

/// An access by each of some threads, to consecutive elements of one buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) buffer: usize,
    /// The operation that the access belongs to.
    pub(crate) op: OpId,
    /// The number of threads that take part in the access of a thread, itself among them.
    pub(crate) lanes: u16,
    pub(crate) write: bool,
    /// Whether the access is atomic. It needs no order with other atomic accesses.
    pub(crate) atomic: bool,
    /// The time from which the access is complete.
    pub(crate) completion: Completion,
    /// Whether only a launch knows the address. The access may then be anywhere, and covers the whole buffer.
    pub(crate) anywhere: bool,
    /// The equation of [`Trace::equations`](crate::trace::Trace::equations) without which the access does not happen; `None` if
    /// none is known.
    pub(crate) only: Option<Equation>,
    /// The number of elements that each thread accesses.
    pub(crate) len: i64,
    /// The threads in ascending order, with the first element of each. A thread may have several.
    pub(crate) threads: Rc<[(u32, i64)]>,
}

//! The events that agents wait for.

use std::rc::Rc;

use hx_thread::{Knowledge, Warps};

use super::polling::Polled;
use crate::code::SiteId;

/// The wait of an agent: the operation that waits, and the event that ends the wait.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Waiting {
    pub(crate) site: SiteId,
    pub(crate) until: Until,
}

/// The event that an agent waits for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Until {
    /// The agents of all roles have ended.
    Others,
    /// Enough threads have arrived at this named barrier.
    Named(usize),
    /// The phase of this parity of a barrier in memory is complete.
    Phase { barrier: usize, stage: usize, parity: i64, waiters: Warps },
    /// A ticket of a counter holds a number: the phase of this parity of its full barrier is complete.
    Ticket { barrier: usize, stage: usize, parity: i64 },
    /// The agent's own draw has happened, which waits for this empty barrier.
    Drawn { barrier: usize, stage: usize },
    /// Memory that a loop has read has changed.
    Change(Rc<Polled>),
}

/// A named barrier: threads that arrived since it last let threads pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedBarrier {
    pub(crate) arrived: usize,
    /// The number of threads that let all of them pass; the first that arrives sets it.
    pub(crate) wanted: usize,
    /// The accesses that the arrived threads know to be complete. Each thread that passes learns them.
    pub(crate) known: Knowledge,
}

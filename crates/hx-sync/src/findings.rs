//! The findings of the analysis, as data.

use hx_tile::{OpId, TensorId};

use crate::{Run, Unwaited};

/// The findings about the synchronization of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Pairs of accesses that nothing orders, at most one for each pair of operations, tensor and [`Hazard::in_flight`].
    pub hazards: Vec<Hazard>,
    /// Barriers of the source that can be removed without losing any order, whatever the layouts.
    pub idle: Vec<OpId>,
    /// Waits that never wait, because nothing they cover is in flight.
    pub idle_waits: Vec<OpId>,
    /// Copies that no wait covers.
    pub unwaited: Vec<Unwaited>,
    /// Shared tensors that are read but never written, with the first operation that reads each.
    pub unwritten: Vec<(TensorId, OpId)>,
}

/// Two accesses to one element that nothing orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hazard {
    /// The shared tensor.
    pub tensor: TensorId,
    /// The offset of the element in the tensor's memory, in elements.
    pub element: i64,
    /// The access that comes first in program order.
    pub earlier: Touch,
    /// The access that comes later.
    pub later: Touch,
    /// Whether the earlier access is a copy that nothing waited for.
    pub in_flight: bool,
    /// The assumptions about the launch under which the hazard shows; `None` if it shows in every launch.
    pub run: Option<Run>,
    /// A change that removes this hazard and adds no other; `None` if none was found.
    pub remedy: Option<Remedy>,
    /// Further hazards that the same remedy removes: the tensor and the later access of each.
    pub others: Vec<(TensorId, Touch)>,
}

/// A change that orders two accesses. It was tried on the traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Insert statements before an operation.
    Insert(Mend),
    /// Insert `commit()` after this copy.
    Commit(OpId),
    /// Make this `wait` leave at most this many groups in flight.
    WaitFor(OpId, u32),
    /// Move this `commit` behind the `if` that contains it.
    CommitAfter(OpId),
}

/// An access by a single thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    /// The operation that the access belongs to.
    pub op: OpId,
    /// The thread that supplies the address.
    pub thread: u32,
    /// Whether lanes besides `thread` take part.
    pub collective: bool,
    /// Whether the access is a write.
    pub write: bool,
}

/// Statements to insert before an operation: those selected of `commit()`, `wait(n)` and a barrier, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mend {
    /// The operation before which they stand.
    pub before: OpId,
    /// Insert `commit()`, which closes the open group of copies.
    pub commit: bool,
    /// Insert `wait(n)`, which waits until at most `n` groups are in flight; `None` for no wait.
    pub wait: Option<u32>,
    /// Insert this barrier; `None` for no barrier.
    pub barrier: Option<Barrier>,
}

/// The threads that a barrier to insert waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// `sync_warp()`: those of each warp.
    Warp,
    /// `sync()`: those of the block.
    Block,
}

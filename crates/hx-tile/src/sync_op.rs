//! The operations that order others.

use hx_index::{Expr, Symbol};

use crate::{NamedBarrierId, PipeId, TurnsId};

/// An operation that orders others. It reads and writes no tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SyncOp {
    /// Waits for all threads of the scope.
    Scope,
    /// Waits for all threads of the warp.
    Warp,
    /// Waits until it is the turn of the group.
    Take { turns: TurnsId },
    /// Ends the turn of the group: it is the next group's turn.
    Pass { turns: TurnsId },
    /// Comes to a barrier of several scopes and waits until all of them have come.
    SyncAt { barrier: NamedBarrierId },
    /// Comes to a barrier of several scopes and does not wait.
    ArriveAt { barrier: NamedBarrierId },
    /// Closes the current group of asynchronous copies.
    Commit,
    /// Waits until at most `groups` of the thread's groups are in flight.
    Wait { groups: u32 },
    /// Waits until at most `leave` asynchronous products of the scope are in flight.
    GemmWait { leave: u32 },
    /// Waits until all readers have released the next stage, and sets `var` to its number. The scope keeps a position of its
    /// own in the ring.
    Acquire { pipe: PipeId, var: Symbol },
    /// Arrives at the stage that the scope acquired last: its threads have written their part of the stage.
    Publish { pipe: PipeId },
    /// Waits until the next stage is full: all copies into it have arrived, and all scopes that write it have published it.
    /// Sets `var` to its number. The scope keeps a position of its own in the ring.
    WaitStage { pipe: PipeId, var: Symbol },
    /// Releases the stages that the scope has waited for and not released, except the newest `keep`, which is 0 or 1.
    Release { pipe: PipeId, keep: u32 },
    /// Leaves the next `count` stages to other scopes.
    Skip { pipe: PipeId, count: Expr },
    /// Waits until at most `leave` of the scope's stores are in flight; with `read`, until at most `leave` of them still read shared
    /// memory.
    WaitStores { leave: u32, read: bool },
    /// Waits until the launches before are complete and their writes to global memory are visible. A launch of a program with
    /// such a wait may start before that.
    WaitPrevious,
    /// Lets the next launch start its blocks once all blocks of this launch have come here or ended.
    AllowNext,
}

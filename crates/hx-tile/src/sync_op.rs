//! The operations that order others.

use hx_index::{Expr, Symbol};

use crate::{Description, Holds, Order, PipeId, TurnsId};

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
    /// Closes the current group of asynchronous copies.
    Commit,
    /// Waits until at most `groups` of the thread's groups are in flight.
    Wait { groups: u32 },
    /// Waits until at most `leave` asynchronous products of the scope are in flight.
    GemmWait { leave: u32 },
    /// Waits until all readers have released the next stage, and sets `var` to its number. The scope keeps a position of its
    /// own in the ring.
    Acquire { pipe: PipeId, var: Symbol },
    /// Waits until all copies of the next stage have arrived, and sets `var` to its number. The scope keeps a position of its
    /// own in the ring.
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

impl SyncOp {
    /// Returns the word of the language for the operation.
    pub fn name(&self) -> &'static str {
        self.description().name
    }

    /// Returns the description of the operation.
    pub(crate) fn description(&self) -> Description<'static> {
        let orders = |name, order| Description { order, ..Description::of(name) };
        let waits = |name, order| Description { holds: Holds::Live, ..orders(name, order) };
        match self {
            SyncOp::Scope => waits("sync", Order::Scope),
            SyncOp::Warp => waits("sync_warp", Order::Warp),
            // A turn orders groups, and no other access of the program relies on that order.
            SyncOp::Take { .. } => orders("take", Order::Nothing),
            SyncOp::Pass { .. } => orders("pass", Order::Nothing),
            SyncOp::Commit => orders("commit", Order::Close),
            SyncOp::Wait { groups } => waits("wait", Order::Wait(*groups)),
            SyncOp::GemmWait { leave } => waits("gemm_wait", Order::WaitProducts(*leave)),
            SyncOp::Acquire { .. } => waits("acquire", Order::Await),
            SyncOp::WaitStage { .. } => waits("wait", Order::Await),
            SyncOp::Release { keep: 0, .. } => orders("release", Order::Arrive),
            SyncOp::Release { .. } => orders("release_previous", Order::Arrive),
            // After a skip, the scopes that use the skipped stages order their own accesses.
            SyncOp::Skip { .. } => orders("skip", Order::Nothing),
            SyncOp::WaitStores { leave, read } => {
                waits("wait_stores", Order::WaitStores { leave: *leave, read: *read })
            }
            // They order launches, and no accesses of one launch.
            SyncOp::WaitPrevious => waits("wait_for_previous", Order::Nothing),
            SyncOp::AllowNext => orders("allow_next", Order::Nothing),
        }
    }
}

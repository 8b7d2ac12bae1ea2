//! Named barriers: all threads of several scopes come to them.

use std::collections::BTreeSet;

use crate::{NamedBarrierId, OpKind, Origin, ScopeId, SyncOp, TileProgram};

/// A barrier of all groups of the scopes that come to it. In each round each group comes once, and either waits for the others or does
/// not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedBarrier {
    /// A name that nothing else in the program has.
    pub name: String,
    /// The name in the source.
    pub word: String,
    pub origin: Origin,
}

impl TileProgram {
    /// Yields the named barriers of the source, in the order of [`TileProgram::named_barriers`].
    pub fn named_barrier_ids(&self) -> impl Iterator<Item = NamedBarrierId> + use<> {
        (0..self.named_barriers.len() as u32).map(NamedBarrierId)
    }

    /// Returns a named barrier of the source.
    ///
    /// # Panics
    /// If the program has no such id.
    pub fn named_barrier(&self, id: NamedBarrierId) -> &NamedBarrier {
        &self.named_barriers[id.0 as usize]
    }

    /// Returns the scopes that come to a barrier.
    pub fn scopes_at(&self, id: NamedBarrierId) -> BTreeSet<ScopeId> {
        let comes = |kind: &OpKind| matches!(kind, OpKind::Sync(op) if op.named_barrier() == Some(id));
        self.ops(1.0).into_iter().filter(|(op, _)| comes(&op.kind)).map(|(op, _)| op.scope).collect()
    }

    /// Returns the number of threads that come to a barrier in each round.
    pub fn threads_at(&self, id: NamedBarrierId) -> u32 {
        let threads = |scope: ScopeId| self.scope(scope).threads * self.scope(scope).groups;
        self.scopes_at(id).into_iter().map(threads).sum()
    }
}

impl SyncOp {
    /// Returns the named barrier of the source to which the operation comes; `None` for any other operation.
    pub fn named_barrier(&self) -> Option<NamedBarrierId> {
        match self {
            SyncOp::SyncAt { barrier } | SyncOp::ArriveAt { barrier } => Some(*barrier),
            SyncOp::Scope
            | SyncOp::Warp
            | SyncOp::Take { .. }
            | SyncOp::Pass { .. }
            | SyncOp::Commit
            | SyncOp::Wait { .. }
            | SyncOp::GemmWait { .. }
            | SyncOp::Acquire { .. }
            | SyncOp::Publish { .. }
            | SyncOp::WaitStage { .. }
            | SyncOp::Release { .. }
            | SyncOp::Skip { .. }
            | SyncOp::WaitStores { .. }
            | SyncOp::WaitPrevious
            | SyncOp::AllowNext => None,
        }
    }
}

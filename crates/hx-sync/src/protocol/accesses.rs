//! The accesses to shared memory that a later access may conflict with.

use std::collections::BTreeMap;

use hx_tile::{OpId, TensorId};

use super::knowledge::{Epoch, Knowledge};
use super::script::{Span, Team};

/// The agent that accesses shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// The threads of a scope, each its own elements.
    Threads,
    /// As `Threads`, atomically.
    Atomic,
    /// A copy in groups, by each thread for its own elements.
    Copies,
    /// A product that reads operands in shared memory.
    Product,
    /// A copy into the stage `n` of a pipe.
    Fill { pipe: u32, n: u32 },
    /// A bulk copy from shared memory.
    Store,
}

impl By {
    /// Reports whether each thread of a scope accesses elements of its own.
    pub(crate) fn is_spread(self) -> bool {
        matches!(self, By::Threads | By::Atomic | By::Copies)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) op: OpId,
    pub(crate) by: By,
    pub(crate) write: bool,
    pub(crate) span: Span,
    /// The time at which the access is complete.
    pub(crate) epoch: Epoch,
    /// The agent that made or issued it, and its step.
    pub(crate) agent: usize,
    pub(crate) step: usize,
    pub(crate) team: Team,
}

/// The accesses to the shared memory of a block that are not ordered before a later write of the same elements.
#[derive(Debug, Default)]
pub(crate) struct Accesses(BTreeMap<TensorId, Vec<Access>>);

impl Accesses {
    /// Adds an access. Returns the earlier accesses that conflict with it and that are unknown to the agent that makes it.
    pub(crate) fn add(&mut self, new: Access, known: &Knowledge) -> Vec<Access> {
        let all = self.0.entry(new.span.tensor).or_default();
        // Test the cheapest conditions first.
        let unordered = |old: &&Access| {
            (old.write || new.write)
                && !known.knows(old.epoch)
                && !(old.by == By::Atomic && new.by == By::Atomic)
                && old.span.overlaps(&new.span)
                && !is_left_to_the_trace(old, &new)
                && !are_shares(old, &new)
        };
        let conflicts = all.iter().filter(unordered).cloned().collect();
        let is_later = |old: &Access| known.knows(old.epoch) || old.epoch.component == new.epoch.component;
        match new.write {
            true => all.retain(|old| !(is_later(old) && new.span.covers(&old.span))),
            false => all.retain(|old| {
                let same = old.epoch.component == new.epoch.component && new.span.covers(&old.span);
                old.write || !same
            }),
        }
        all.push(new);
        conflicts
    }

    /// Returns the earlier accesses by threads of the scope of `new` to the same elements, if one of the two is a write.
    pub(crate) fn of_scope<'a>(&'a self, new: &'a Access) -> impl Iterator<Item = &'a Access> {
        let all = self.0.get(&new.span.tensor).into_iter().flatten();
        let meets = |old: &&Access| {
            old.team == new.team
                && old.by == By::Threads
                && (old.write || new.write)
                && old.span.overlaps(&new.span)
        };
        all.filter(meets)
    }

    /// Returns the stages that the part `span` of a tensor holds now, as pipe and number of the stage.
    pub(crate) fn stages(&self, span: &Span) -> Vec<(u32, u32)> {
        let mut stages: Vec<(u32, u32)> = Vec::new();
        for access in self.0.get(&span.tensor).into_iter().flatten() {
            if let By::Fill { pipe, n } = access.by
                && access.span.overlaps(span)
            {
                stages.push((pipe, n));
            }
        }
        stages
    }
}

/// Reports whether both accesses are by threads of one scope: then the trace compares them thread by thread, and this module does not.
fn is_left_to_the_trace(a: &Access, b: &Access) -> bool {
    a.by.is_spread() && b.by.is_spread() && a.team == b.team
}

/// Reports whether the two accesses are shares of one multicast copy, which blocks of a cluster write to different elements.
fn are_shares(a: &Access, b: &Access) -> bool {
    matches!(a.by, By::Fill { .. }) && a.by == b.by && a.op == b.op && a.agent != b.agent
}

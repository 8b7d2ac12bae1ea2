//! Accesses to global memory that a bulk store of another scope writes.

use hx_target::Mode;
use hx_tile::OpId;

use super::super::Kind;
use super::super::knowledge::Epoch;
use super::super::script::{FarSpan, Team};
use super::{Machine, Queue};

/// An access to elements that a bulk store writes, or such a store.
pub(super) struct Far {
    op: OpId,
    agent: usize,
    team: Team,
    mode: Mode,
    is_store: bool,
    span: FarSpan,
    epoch: Epoch,
}

impl Far {
    /// Reports whether the accesses are of scopes that share no group, one of them is a store, and they use one element not only to add
    /// to it.
    fn meets(&self, other: &Far) -> bool {
        let apart =
            |a: Team, b: Team| a.first + a.groups <= b.first || b.first.saturating_add(b.groups) <= a.first;
        (self.is_store || other.is_store)
            && (self.mode.writes() || other.mode.writes())
            && !(self.mode == Mode::Add && other.mode == Mode::Add)
            && apart(self.team, other.team)
            && self.span.meets(&other.span)
    }
}

impl Machine<'_> {
    /// Notes an access by the threads of a scope.
    pub(super) fn access_far(&mut self, agent: usize, op: OpId, team: Team, span: &FarSpan, mode: Mode) {
        let epoch = Epoch { component: self.components.threads(agent), time: self.agents[agent].now };
        self.far(Far { op, agent, team, mode, is_store: false, span: span.clone(), epoch });
    }

    /// Notes a store of the copy unit.
    pub(super) fn store_far(&mut self, agent: usize, op: OpId, team: Team, span: &FarSpan, mode: Mode) {
        let time = self.agents[agent].issued[Queue::Writes as usize];
        let epoch = Epoch { component: self.components.queue(Queue::Writes, agent), time };
        self.far(Far { op, agent, team, mode, is_store: true, span: span.clone(), epoch });
    }

    fn far(&mut self, new: Far) {
        let block = self.agents[new.agent].block as usize;
        let known = if new.is_store { &self.agents[new.agent].own } else { &self.agents[new.agent].all };
        let unordered = self.far[block].iter().filter(|old| old.meets(&new) && !known.knows(old.epoch));
        let faults: Vec<Kind> = unordered
            .map(|old| {
                let (store, access) = if old.is_store { (old, &new) } else { (&new, old) };
                // The thread that stores may have waited for its writes, and not told the others.
                let complete = old.is_store && self.agents[store.agent].own.knows(store.epoch);
                let (param, mode) = (access.span.param, access.mode);
                Kind::Unstored { store: store.op, access: access.op, param, mode, complete }
            })
            .collect();
        self.faults.extend(faults);
        let all = &mut self.far[block];
        all.retain(|old| !(old.agent == new.agent && old.op == new.op && old.span == new.span));
        all.push(new);
    }
}

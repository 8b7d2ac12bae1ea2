//! Describes waits that never return.

use std::collections::{BTreeMap, BTreeSet};

use hx_tile::{OpId, TensorId};

use super::super::script::{Step, StepKind, Team};
use super::super::{Act, Blocked, Kind, Rounds, Stmt, Want};
use super::Machine;

impl Machine<'_> {
    /// Returns the waits of all agents that have not reached their end; `None` if all have. A wait that no remaining step can
    /// end comes first, because the other waits follow from it.
    pub(super) fn stuck(&self) -> Option<Kind> {
        let waiting = |agent: &usize| self.agents[*agent].at < self.scripts[*agent].steps.len();
        let mut agents: Vec<usize> = (0..self.agents.len()).filter(waiting).collect();
        // A block that waits at its end does so because another one does not come there.
        let at_end =
            |agent: &usize| self.scripts[*agent].steps[self.agents[*agent].at].kind == StepKind::SyncCluster;
        if !agents.iter().all(at_end) {
            agents.retain(|agent| !at_end(agent));
        }
        let mut blocked: Vec<(u8, Blocked)> = agents.iter().map(|agent| self.blocked(*agent)).collect();
        // The sort is stable: groups with equal rank stay in the order of their numbers.
        blocked.sort_by_key(|(rank, _)| *rank);
        let mut told: Vec<Blocked> = Vec::new();
        for (_, blocked) in blocked {
            // Groups of one role wait for the same at the same place.
            let is_known = told.iter().any(|known| known.op == blocked.op && known.wants == blocked.wants);
            if !is_known {
                told.push(blocked);
            }
        }
        (!told.is_empty()).then_some(Kind::Stuck(told))
    }

    /// Describes the event that an agent waits for, with a rank for the report. The rank is lower if no remaining step can end the wait,
    /// and lowest if the operation is known after which such a step is missing.
    fn blocked(&self, agent: usize) -> (u8, Blocked) {
        let Step { op, team, kind } = &self.scripts[agent].steps[self.agents[agent].at];
        let (hopeless, wants) = match kind {
            StepKind::Acquire { pipe, n } => self.wants_release(agent, *pipe, *n),
            StepKind::Wait { pipe, n } => self.wants_fill(agent, *pipe, *n),
            StepKind::Take(turns) => self.wants_turn(agent, *turns),
            StepKind::Meet { axis } => self.wants_sum(agent, *op, *team, *axis),
            StepKind::AwaitFlag { tensor } => self.wants_flag(agent, *team, *tensor),
            StepKind::AwaitAll { barrier, n } => self.wants_all(agent, *barrier, *n),
            _ => self.wants_others(agent, *team, matches!(kind, StepKind::SyncCluster)),
        };
        let who = self.protocol.group_name(self.scripts[agent].group);
        let has_place = match &wants {
            Want::Release { waited, .. } => waited.is_some(),
            Want::Turn { taken, .. } => taken.is_some(),
            Want::Fill { .. }
            | Want::Barrier { .. }
            | Want::Sum { .. }
            | Want::Flag { .. }
            | Want::All { .. } => false,
        };
        let rank = if !hopeless { 2 } else { u8::from(!has_place) };
        (rank, Blocked { who, op: *op, wants })
    }

    /// Returns the steps that an agent has not made.
    pub(super) fn left(&self, agent: usize) -> &[Step] {
        &self.scripts[agent].steps[self.agents[agent].at..]
    }

    /// Returns the agents of the block of an agent, without itself.
    fn mates(&self, agent: usize) -> impl Iterator<Item = usize> + '_ {
        let block = self.agents[agent].block;
        (0..self.agents.len()).filter(move |mate| *mate != agent && self.agents[*mate].block == block)
    }

    fn wants_release(&self, agent: usize, pipe: u32, n: u32) -> (bool, Want) {
        let block = self.agents[agent].block;
        let state = &self.pipes[block as usize][pipe as usize];
        let before = n.saturating_sub(state.stages);
        let releases = |step: &Step| step.kind == StepKind::Release { pipe, n: before };
        let waits = |step: &&Step| step.kind == StepKind::Wait { pipe, n: before };
        let (mut readers, mut waited, mut hopeful) = (Vec::new(), None, 0);
        let sharing = self.targets(block, &state.axes);
        for mate in (0..self.agents.len()).filter(|mate| sharing.contains(&self.agents[*mate].block)) {
            let made = &self.scripts[mate].steps[..self.agents[mate].at];
            let will = self.left(mate).iter().any(releases);
            hopeful += u32::from(will);
            let wait = made.iter().find(waits).map(|step| step.op);
            if wait.is_some() && !made.iter().any(releases) {
                readers.push(self.protocol.group_name(self.scripts[mate].group));
                waited = waited.or(wait);
            }
        }
        readers.sort();
        readers.dedup();
        let given = state.all.get(before as usize).map_or(0, |stage| stage.released);
        let needed = state.releases;
        let rounds = self.rounds(block, pipe);
        (given + hopeful < needed, Want::Release { pipe, readers, waited, given, needed, rounds })
    }

    /// Counts the stages of a pipe that a block acquires and waits for.
    pub(super) fn rounds(&self, block: u32, pipe: u32) -> Rounds {
        let mut acquired = 0;
        let mut waits = Vec::new();
        for script in self.scripts.iter().filter(|script| script.block == block) {
            let steps = || script.steps.iter().map(|step| &step.kind);
            let numbers = steps().filter_map(|kind| match kind {
                StepKind::Acquire { pipe: of, n } if *of == pipe => Some(n + 1),
                _ => None,
            });
            acquired = acquired.max(numbers.max().unwrap_or(0));
            let own = steps().filter(|kind| matches!(kind, StepKind::Wait { pipe: of, .. } if *of == pipe));
            let own = own.count() as u32;
            if own > 0 || self.wait_of(script.group, pipe).is_some() {
                waits.push((self.protocol.group_name(script.group), own));
            }
        }
        let groups = 0..self.protocol.groups;
        let wait = groups.filter_map(|group| self.wait_of(group, pipe)).min();
        Rounds { acquired, readers: self.protocol.pipes[pipe as usize].readers, waits, wait }
    }

    /// Returns the first wait of a group for a pipe, whether or not this launch comes to it; `None` if the group has none.
    fn wait_of(&self, group: u32, pipe: u32) -> Option<OpId> {
        let mut found = None;
        self.protocol.visit_group(group, &mut |stmt| {
            if let Stmt::Act(op, Act::Wait { pipe: of, .. }) = stmt
                && *of == pipe
            {
                found = found.or(Some(*op));
            }
        });
        found
    }

    fn wants_fill(&self, agent: usize, pipe: u32, n: u32) -> (bool, Want) {
        let state = &self.pipes[self.agents[agent].block as usize][pipe as usize];
        let expected = state.all.get(n as usize).map_or(0, |stage| stage.expected);
        let (acquire, acquired) = self.acquired(pipe);
        (expected == 0, Want::Fill { pipe, acquire, number: n + 1, acquired })
    }

    /// Returns the number of stages of a pipe that are acquired, by all scopes that fill them together, and an acquire of the scope that
    /// acquires the fewest.
    fn acquired(&self, pipe: u32) -> (Option<OpId>, u32) {
        let mut teams: BTreeMap<Team, (OpId, u32)> = BTreeMap::new();
        let mut made = BTreeSet::new();
        for step in self.scripts.iter().flat_map(|script| &script.steps) {
            if let StepKind::Acquire { pipe: of, n } = step.kind
                && of == pipe
            {
                made.insert(step.op);
                let (_, acquired) = teams.entry(step.team).or_insert((step.op, 0));
                *acquired = (*acquired).max(n + 1);
            }
        }
        let fillers = self.protocol.pipes[pipe as usize].fillers as usize;
        if fillers == 1 && !teams.is_empty() {
            let acquired = teams.values().map(|(_, acquired)| *acquired).max().unwrap_or(0);
            return (teams.values().next().map(|(op, _)| *op), acquired);
        }
        if let Some((op, acquired)) = teams.values().min_by_key(|(_, acquired)| *acquired)
            && teams.len() >= fillers
        {
            return (Some(*op), *acquired);
        }
        // A launch may have no round of the loop in which a scope acquires.
        let mut acquire = None;
        self.protocol.visit(&mut |stmt| {
            if let Stmt::Act(op, Act::Acquire { pipe: of, .. }) = stmt
                && *of == pipe
                && !made.contains(op)
            {
                acquire = acquire.or(Some(*op));
            }
        });
        (acquire, 0)
    }

    fn wants_turn(&self, agent: usize, turns: u32) -> (bool, Want) {
        let group = self.scripts[agent].group;
        let roles = &self.protocol.roles;
        let role = roles.iter().find(|role| role.first <= group && group < role.first + role.groups);
        let from =
            role.map_or(group, |role| role.first + (group + role.groups - 1 - role.first) % role.groups);
        let is = |kind: StepKind| move |step: &&Step| step.kind == kind;
        let block = self.agents[agent].block;
        let before = (0..self.agents.len())
            .find(|mate| self.scripts[*mate].group == from && self.agents[*mate].block == block)
            .unwrap_or(agent);
        let taken = self.scripts[before].steps[..self.agents[before].at].iter().rev();
        let taken = taken.clone().find(is(StepKind::Take(turns))).map(|step| step.op);
        let passes = self.left(before).iter().any(|step| step.kind == StepKind::Pass(turns));
        (!passes, Want::Turn { turns, from: self.protocol.group_name(from), taken })
    }

    fn wants_flag(&self, agent: usize, team: Team, tensor: TensorId) -> (bool, Want) {
        let writes = |step: &Step| match &step.kind {
            StepKind::Atomic { span, writes, .. } => *writes && span.tensor == tensor && step.team != team,
            _ => false,
        };
        let will = self.mates(agent).any(|mate| self.left(mate).iter().any(writes));
        (!will, Want::Flag { tensor })
    }

    /// Describes a wait for the same sum in other blocks of the cluster.
    fn wants_sum(&self, agent: usize, op: OpId, team: Team, axis: u8) -> (bool, Want) {
        let blocks = self.targets(self.agents[agent].block, &BTreeSet::from([axis]));
        let sums = |step: &Step| step.op == op && matches!(step.kind, StepKind::Meet { .. });
        let late = |other: &usize| {
            let group = self.scripts[*other].group;
            let is_part = blocks.contains(&self.agents[*other].block)
                && (team.first..team.first + team.groups).contains(&group);
            let waits = self.agents[*other].arrived && self.left(*other).first().is_some_and(sums);
            is_part && !waits
        };
        let late: Vec<usize> = (0..self.agents.len()).filter(late).collect();
        let hopeless = late.iter().any(|other| !self.left(*other).iter().any(sums));
        let own = late.iter().all(|other| self.agents[*other].block == self.agents[agent].block);
        (hopeless, Want::Sum { own })
    }

    fn wants_others(&self, agent: usize, team: Team, cluster: bool) -> (bool, Want) {
        let barrier = |step: &Step| match cluster {
            true => step.kind == StepKind::SyncCluster,
            false => step.kind == StepKind::Sync && step.team == team,
        };
        let within = |mate: &usize| {
            let group = self.scripts[*mate].group;
            cluster || team.first <= group && group < team.first + team.groups
        };
        let mates: Vec<usize> = match cluster {
            true => (0..self.agents.len()).collect(),
            false => self.mates(agent).collect(),
        };
        let late = mates.into_iter().filter(|mate| within(mate) && !self.agents[*mate].arrived);
        let late: Vec<usize> = late.filter(|mate| *mate != agent).collect();
        let hopeless = late.iter().any(|mate| !self.left(*mate).iter().any(barrier));
        let missing = late.iter().map(|mate| self.protocol.group_name(self.scripts[*mate].group)).collect();
        (hopeless, Want::Barrier { missing })
    }
}

//! The parts of a launch that do not change: rings, scopes, and who reaches whom.

use std::collections::{BTreeMap, BTreeSet};

use hx_tile::{OpId, TensorId};

use super::super::Pipe;
use super::super::script::{Script, Span, Step, StepKind, Team};
use super::Protocol;

/// More groups than a block has.
const NEVER: u32 = u32::MAX;

pub(super) struct Table<'a> {
    pub(super) protocol: &'a Protocol,
    pub(super) scripts: &'a [Script],
    pub(super) blocks: usize,
    /// By block and pipe.
    pub(super) pipes: Vec<Vec<Ring>>,
    /// The shared tensors that a single agent accesses and that no copy into a stage fills, each with that agent.
    pub(super) private: BTreeMap<TensorId, usize>,
    /// By agent and step: the number of the step among those of the same operation, from 1 on.
    pub(super) turns: Vec<Vec<u32>>,
}

/// A ring of stages as its barriers know it.
pub(super) struct Ring {
    pub(super) stages: u32,
    /// The number of releases that end a phase of an empty barrier.
    pub(super) releases: u32,
    /// The blocks at whose barriers a release by a group of this block arrives.
    pub(super) told: Vec<usize>,
    /// By `n`, the number of copies and publications that arrive at the stage.
    pub(super) expected: BTreeMap<u32, u32>,
    /// By `n`, the number of groups that acquire the stage together.
    pub(super) acquirers: BTreeMap<u32, u32>,
}

impl Ring {
    /// Returns the number of groups that acquire the phase of a slot, if all of them have and all its copies are issued, so
    /// that the copies can arrive; `None` otherwise.
    pub(super) fn arrives(&self, slot: u32, state: &Slot) -> Option<u32> {
        let n = state.filled * self.stages + slot;
        let expected = self.expected.get(&n).copied().unwrap_or(0);
        // Lowering makes a stage wait for every group of the scope that fills it, so no group is late for the stage.
        let groups = self.acquirers.get(&n).copied().unwrap_or(1);
        (state.armed >= groups && expected > 0 && state.issued >= expected).then_some(groups)
    }
}

/// The barriers of one slot of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    /// The phases of the full barrier that are complete.
    pub(super) filled: u32,
    /// Acquires of the phase that is not complete, by each group.
    pub(super) armed: u32,
    /// Copies that belong to the phase.
    pub(super) issued: u32,
    /// Arrivals at the empty barrier, of all phases.
    pub(super) given: u32,
}

/// Reports whether a wait for a phase returns when `complete` phases are complete. A barrier has only the parity of its phase,
/// so the wait takes every second phase for its own.
pub(super) fn has_passed(complete: u32, phase: u32) -> bool {
    complete % 2 != phase % 2
}

impl<'a> Table<'a> {
    pub(super) fn new(protocol: &'a Protocol, scripts: &'a [Script]) -> Table<'a> {
        let blocks = scripts.iter().map(|script| script.block as usize + 1).max().unwrap_or(1);
        let steps = || scripts.iter().flat_map(|script| script.steps.iter().map(move |step| (script, step)));
        let mut axes: Vec<BTreeSet<u8>> = vec![BTreeSet::new(); protocol.pipes.len()];
        for (_, step) in steps() {
            if let StepKind::Fill { pipe, multicast: Some(cast), .. } = &step.kind {
                axes[*pipe as usize].insert(cast.axis);
            }
        }
        let ring = |block: usize, pipe: usize| {
            let told = reached(scripts, block, &axes[pipe]);
            let mut expected = BTreeMap::new();
            for (script, step) in steps() {
                if let StepKind::Publish { pipe: of, n } = &step.kind
                    && (*of as usize, script.block as usize) == (pipe, block)
                {
                    *expected.entry(*n).or_insert(0) += 1;
                }
                if let StepKind::Fill { pipe: of, n, multicast, .. } = &step.kind
                    && *of as usize == pipe
                {
                    let along = multicast.iter().map(|cast| cast.axis).collect();
                    if reached(scripts, script.block as usize, &along).contains(&block) {
                        *expected.entry(*n).or_insert(0) += 1;
                    }
                }
            }
            let mut teams: BTreeMap<u32, BTreeSet<Team>> = BTreeMap::new();
            for (script, step) in steps() {
                if let StepKind::Acquire { pipe: of, n } = &step.kind
                    && (*of as usize, script.block as usize) == (pipe, block)
                {
                    teams.entry(*n).or_default().insert(step.team);
                }
            }
            let Pipe { stages, readers, fillers, .. } = protocol.pipes[pipe];
            let groups = |teams: BTreeSet<Team>| {
                let groups = teams.iter().map(|team| team.groups);
                // A stage that one of its fillers never comes to is never full.
                if (teams.len() as u32) < fillers { NEVER } else { groups.sum() }
            };
            let acquirers = teams.into_iter().map(|(n, teams)| (n, groups(teams))).collect();
            Ring { stages: stages.max(1), releases: readers * told.len() as u32, told, expected, acquirers }
        };
        let pipes = (0..blocks)
            .map(|block| (0..protocol.pipes.len()).map(|pipe| ring(block, pipe)).collect())
            .collect();
        let mut users: BTreeMap<TensorId, BTreeSet<usize>> = BTreeMap::new();
        for (agent, script) in scripts.iter().enumerate() {
            for step in &script.steps {
                for span in spans(&step.kind) {
                    // A copy into a stage runs by itself.
                    let by = if matches!(step.kind, StepKind::Fill { .. }) { usize::MAX } else { agent };
                    users.entry(span.tensor).or_default().insert(by);
                }
            }
        }
        let single = |(tensor, by): (TensorId, BTreeSet<usize>)| {
            let only = by.first().copied().filter(|agent| by.len() == 1 && *agent != usize::MAX);
            only.map(|agent| (tensor, agent))
        };
        let private = users.into_iter().filter_map(single).collect();
        let turns = |script: &Script| {
            let mut met: BTreeMap<OpId, u32> = BTreeMap::new();
            let turn = |step: &Step| {
                let turn = met.entry(step.op).or_insert(0);
                *turn += 1;
                *turn
            };
            script.steps.iter().map(turn).collect()
        };
        Table { protocol, scripts, blocks, pipes, private, turns: scripts.iter().map(turns).collect() }
    }

    pub(super) fn ring(&self, block: usize, pipe: usize) -> &Ring {
        &self.pipes[block][pipe]
    }

    pub(super) fn step(&self, agent: usize, at: usize) -> Option<&Step> {
        self.scripts[agent].steps.get(at)
    }

    pub(super) fn block(&self, agent: usize) -> usize {
        self.scripts[agent].block as usize
    }

    /// Returns the agents, `agent` among them, that have to come to the barrier or the sum of `step`.
    pub(super) fn members(&self, agent: usize, step: &Step) -> Vec<usize> {
        let all = 0..self.scripts.len();
        match &step.kind {
            StepKind::SyncCluster => all.collect(),
            StepKind::Meet { axis } => {
                let blocks = reached(self.scripts, self.block(agent), &BTreeSet::from([*axis]));
                let within =
                    |other: &usize| blocks.contains(&self.block(*other)) && self.is_in(*other, step.team);
                all.filter(within).collect()
            }
            _ => all.filter(|o| self.block(*o) == self.block(agent) && self.is_in(*o, step.team)).collect(),
        }
    }

    /// Reports whether step `at` of an agent waits at the same barrier or sum as `step`.
    pub(super) fn meets(&self, step: &Step, agent: usize, at: usize) -> bool {
        let Some(there) = self.step(agent, at) else { return false };
        // Threads meet at one operation for a sum. A scope meets at its barriers in order, wherever they are written. All scopes meet
        // at the barrier of the cluster.
        let same = match step.kind {
            StepKind::Meet { .. } => there.op == step.op,
            StepKind::SyncCluster => true,
            _ => there.team == step.team,
        };
        there.kind == step.kind && same
    }

    fn is_in(&self, agent: usize, team: Team) -> bool {
        (team.first..team.first + team.groups).contains(&self.scripts[agent].group)
    }

    /// Returns the number of arrivals that complete this many rounds of a barrier of several groups.
    pub(super) fn comings(&self, barrier: u32, rounds: u32) -> u32 {
        rounds * self.protocol.barriers[barrier as usize].groups.len() as u32
    }

    pub(super) fn next_group(&self, agent: usize) -> usize {
        let group = self.scripts[agent].group;
        let is_mine = |role: &&super::super::Role| (role.first..role.first + role.groups).contains(&group);
        let role = self.protocol.roles.iter().find(is_mine);
        role.map_or(group, |role| role.first + (group + 1 - role.first) % role.groups) as usize
    }
}

/// Returns the blocks whose place differs from that of a block along one of these axes at most.
pub(super) fn reached(scripts: &[Script], block: usize, axes: &BTreeSet<u8>) -> Vec<usize> {
    let places: BTreeMap<usize, [i64; 3]> =
        scripts.iter().map(|script| (script.block as usize, script.place)).collect();
    let here = places[&block];
    let shares = |place: &[i64; 3]| {
        let differ: Vec<u8> = (0..3u8).filter(|axis| place[*axis as usize] != here[*axis as usize]).collect();
        differ.is_empty() || differ.len() == 1 && axes.contains(&differ[0])
    };
    places.iter().filter(|(_, place)| shares(place)).map(|(block, _)| *block).collect()
}

/// Returns the parts of shared memory that a step accesses.
fn spans(kind: &StepKind) -> Vec<&Span> {
    match kind {
        StepKind::Fill { into, .. } => into.iter().collect(),
        StepKind::Copy(span) | StepKind::Access { span, .. } | StepKind::Atomic { span, .. } => vec![span],
        StepKind::Multiply { shared, .. } => shared.iter().collect(),
        StepKind::Store { from, .. } => from.iter().collect(),
        StepKind::Acquire { .. }
        | StepKind::Publish { .. }
        | StepKind::Wait { .. }
        | StepKind::Release { .. }
        | StepKind::Commit
        | StepKind::WaitCopies(_)
        | StepKind::Touch { .. }
        | StepKind::WaitProducts(_)
        | StepKind::WaitStores { .. }
        | StepKind::Far { .. }
        | StepKind::Take(_)
        | StepKind::Pass(_)
        | StepKind::Come { .. }
        | StepKind::AwaitAll { .. }
        | StepKind::AwaitFlag { .. }
        | StepKind::Sync
        | StepKind::Meet { .. }
        | StepKind::SyncCluster => Vec::new(),
    }
}

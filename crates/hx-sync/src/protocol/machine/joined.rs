//! Barriers of several groups: arrivals, waits, and rounds to which not all groups come.

use hx_tile::OpId;

use super::super::knowledge::Epoch;
use super::super::script::StepKind;
use super::super::{Comings, Kind, Want};
use super::{Machine, Round};

impl Machine<'_> {
    /// Brings a group to a barrier for round `n`. A barrier counts arrivals and does not know whose they are, so the threads of the group
    /// have to know that the last round is complete: only a thread that waited there tells them.
    pub(super) fn come(&mut self, agent: usize, op: OpId, barrier: u32, n: u32) {
        let block = self.agents[agent].block;
        let component = self.components.rounds(block, barrier);
        let last = n.checked_sub(1).map(|time| Epoch { component, time });
        if last.is_some_and(|last| !self.agents[agent].all.knows(last)) {
            self.faults.push(Kind::Hurried { come: op, barrier });
        }
        let told = self.publish(agent);
        let round = self.round(block, barrier, n);
        round.come += 1;
        told.add_to(&mut round.told);
        self.woke = true;
    }

    /// Waits until all groups have come to a barrier for round `n`.
    pub(super) fn await_all(&mut self, agent: usize, barrier: u32, n: u32) -> bool {
        let block = self.agents[agent].block;
        let wanted = self.protocol.barriers[barrier as usize].groups.len();
        let component = self.components.rounds(block, barrier);
        let round = self.round(block, barrier, n);
        if round.come < wanted {
            return false;
        }
        if let Some(told) = round.told.clone() {
            self.learn(agent, &told);
        }
        self.agents[agent].all.learn(component, n + 1);
        self.agents[agent].own.learn(component, n + 1);
        true
    }

    fn round(&mut self, block: u32, barrier: u32, n: u32) -> &mut Round {
        let rounds = &mut self.rounds[block as usize][barrier as usize];
        if rounds.len() <= n as usize {
            rounds.resize(n as usize + 1, Round::default());
        }
        &mut rounds[n as usize]
    }

    /// Finds the arrivals at barriers whose round is never complete, if no group waits for it.
    pub(super) fn unmet(&mut self) {
        let mut found = Vec::new();
        for (agent, script) in self.scripts.iter().enumerate() {
            for step in &script.steps {
                let StepKind::Come { barrier, n } = step.kind else { continue };
                let missing = self.missing(agent, barrier, n);
                if !missing.is_empty() {
                    let missing = missing.into_iter().map(|group| self.protocol.group_name(group)).collect();
                    let comings = self.comings(agent, barrier);
                    found.push(Kind::Unmet { arrive: step.op, barrier, missing, comings });
                }
            }
        }
        self.faults.extend(found);
    }

    /// Describes the wait of an agent for the other groups of a barrier.
    pub(super) fn wants_all(&self, agent: usize, barrier: u32, n: u32) -> (bool, Want) {
        let is = |kind: &StepKind| *kind == StepKind::Come { barrier, n };
        let will = |group: u32| {
            self.agent_of(agent, group).is_some_and(|mate| self.left(mate).iter().any(|step| is(&step.kind)))
        };
        let came = |group: u32| {
            self.agent_of(agent, group).is_some_and(|mate| {
                self.scripts[mate].steps[..self.agents[mate].at].iter().any(|step| is(&step.kind))
            })
        };
        let groups = self.protocol.barriers[barrier as usize].groups.iter().copied();
        let late: Vec<u32> = groups.filter(|group| !came(*group)).collect();
        let hopeless = late.iter().any(|group| !will(*group));
        let missing = late.into_iter().map(|group| self.protocol.group_name(group)).collect();
        (hopeless, Want::All { barrier, missing, hopeless, comings: self.comings(agent, barrier) })
    }

    /// Returns the groups of a barrier that never come to it for round `n`, in the block of an agent.
    fn missing(&self, agent: usize, barrier: u32, n: u32) -> Vec<u32> {
        let comes = |group: &u32| {
            let mate = self.agent_of(agent, *group);
            mate.is_some_and(|mate| {
                self.scripts[mate].steps.iter().any(|step| step.kind == StepKind::Come { barrier, n })
            })
        };
        let groups = self.protocol.barriers[barrier as usize].groups.iter().copied();
        groups.filter(|group| !comes(group)).collect()
    }

    /// Returns how often each group of a barrier comes to it, in the block of an agent.
    fn comings(&self, agent: usize, barrier: u32) -> Comings {
        let comes = |kind: &StepKind| matches!(kind, StepKind::Come { barrier: of, .. } if *of == barrier);
        let count = |group: &u32| {
            let mate = self.agent_of(agent, *group);
            let steps = mate.map_or(&[][..], |mate| &self.scripts[mate].steps);
            let count = steps.iter().filter(|step| comes(&step.kind)).count() as u32;
            (self.protocol.group_name(*group), count)
        };
        self.protocol.barriers[barrier as usize].groups.iter().map(count).collect()
    }

    /// Returns the agent of a group in the block of another agent.
    fn agent_of(&self, agent: usize, group: u32) -> Option<usize> {
        let block = self.agents[agent].block;
        (0..self.agents.len())
            .find(|mate| self.agents[*mate].block == block && self.scripts[*mate].group == group)
    }
}

//! The order in which the agents of a block run.
//!
//! One agent runs at a time. It runs until it waits, or until the order gives the turn to another agent. The order follows
//! from a seed: with 0 the agent with the lowest number goes on whenever there is a choice, with 1 the one with the highest,
//! and any other seed draws the agent and the number of its steps. If agents are left and none can go on, the block reports
//! what each of them waits for: see [`crate::deadlock`].

use crate::block::Block;
use crate::block::agent::Agent;
use crate::block::waiting::{Until, Waiting};
use crate::error::SimError;
use crate::overlay::Overlay;
use crate::step::Turn;

/// The result of a step of some agent of blocks that run together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tick {
    Went,
    /// No agent can go on unless another block changes memory.
    Stuck,
    /// All agents have ended.
    Ended,
}

impl<'a> Block<'a> {
    /// Runs all agents to their end.
    ///
    /// # Errors
    /// On the first fault, and if agents are left that wait for ever.
    pub(crate) fn run(&mut self) -> Result<(), SimError> {
        while self.tick()? == Tick::Went {}
        self.expect_ended()
    }

    /// Performs the next step of the running agent, and chooses the agent that runs next.
    ///
    /// # Errors
    /// On a fault.
    pub(crate) fn tick(&mut self) -> Result<Tick, SimError> {
        match self.advance()? {
            Turn::Stepped => {
                if self.order.ends_turn(self.agent.is_logging()) || self.agent.nap.is_some() {
                    self.next_agent();
                }
            }
            // Copies that have not arrived do so at the latest when nobody can go on without them.
            Turn::Blocked | Turn::Ended => {
                while !self.next_agent() {
                    if !self.complete_next()? {
                        if !self.has_ended() {
                            return Ok(Tick::Stuck);
                        }
                        self.expect_waited()?;
                        self.count_unwaited();
                        return Ok(Tick::Ended);
                    }
                }
            }
        }
        Ok(Tick::Went)
    }

    /// Reports whether all agents have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.parked.iter().chain([&self.agent]).all(Agent::has_ended)
    }

    /// Gives the turn to an agent that can go on, perhaps the same as before. Returns false if there is none.
    fn next_agent(&mut self) -> bool {
        self.order.begin();
        if self.parked.is_empty() {
            self.agent.nap = None;
            return self.can_go_on(&self.agent, &self.overlays);
        }
        let ready = self.ready(&self.overlays);
        if ready.is_empty() {
            return false;
        }
        let numbers: Vec<usize> = ready.iter().map(|(number, _)| *number).collect();
        let (_, chosen) = ready[self.order.choose(&numbers)];
        self.turn_to(chosen);
        true
    }

    /// Returns number and place of the agents that can go on, sorted by number. The place is the position in `parked`, or its
    /// length for the running agent. A choice must use the numbers, because agents change places. If all of them gave their
    /// turn to others, returns only the one that did so first. `overlays` are those that the block reads.
    pub(crate) fn ready(&self, overlays: &[Overlay]) -> Vec<(usize, usize)> {
        let all = || self.parked.iter().chain([&self.agent]).enumerate();
        let mut ready: Vec<(usize, usize)> = Vec::new();
        let mut napping: Option<(u64, usize, usize)> = None;
        for (place, agent) in all().filter(|(_, agent)| self.can_go_on(agent, overlays)) {
            match agent.nap {
                None => ready.push((agent.number, place)),
                Some(nap) if napping.is_some_and(|(first, ..)| first < nap) => {}
                Some(nap) => napping = Some((nap, agent.number, place)),
            }
        }
        if let Some((_, number, place)) = napping.filter(|_| ready.is_empty()) {
            ready.push((number, place));
        }
        ready.sort_unstable();
        ready
    }

    /// Reports whether some agent can go on that did not give its turn to others.
    pub(crate) fn is_awake(&self, overlays: &[Overlay]) -> bool {
        let mut agents = self.parked.iter().chain([&self.agent]);
        agents.any(|agent| agent.nap.is_none() && self.can_go_on(agent, overlays))
    }

    /// Gives the turn to the agent at a place.
    pub(crate) fn turn_to(&mut self, place: usize) {
        if let Some(parked) = self.parked.get_mut(place) {
            std::mem::swap(&mut self.agent, parked);
        }
        self.agent.nap = None;
    }

    /// Reports whether an agent has a step that it can do now.
    fn can_go_on(&self, agent: &Agent<'_>, overlays: &[Overlay]) -> bool {
        let is_over = |waiting: &Waiting| self.is_over(agent, &waiting.until, overlays);
        !agent.has_ended() && agent.waiting.as_ref().is_none_or(is_over)
    }

    /// Reports whether the event that an agent waits for has happened.
    fn is_over(&self, agent: &Agent<'_>, until: &Until, overlays: &[Overlay]) -> bool {
        match until {
            Until::Others => {
                let mut roles = self.parked.iter().chain([&self.agent]).filter(|agent| agent.number > 0);
                roles.all(Agent::has_ended)
            }
            // The last thread that arrives ends the wait of all others.
            Until::Named(_) => false,
            Until::Phase { barrier, stage, parity, .. } | Until::Ticket { barrier, stage, parity } => {
                self.phases.awaited(*barrier, *stage, *parity).is_some()
            }
            Until::Drawn { .. } => agent.drawing.is_none(),
            Until::Change(polled) => self.has_changed(polled, overlays),
        }
    }

    /// Ends the wait of the running agent if the event has happened. Returns false if the agent still waits.
    pub(crate) fn resume(&mut self) -> bool {
        let waiting = self.agent.waiting.as_ref();
        let over = waiting.is_none_or(|waiting| self.is_over(&self.agent, &waiting.until, &self.overlays));
        if over
            && let Some(Waiting { site, until: Until::Phase { barrier, stage, parity, waiters } }) =
                self.agent.waiting.take()
            && let Some(known) = self.phases.awaited(barrier, stage, parity)
        {
            self.clock.acquire(waiters, known);
            self.pass(site, (barrier, stage), waiters);
        }
        over
    }
}

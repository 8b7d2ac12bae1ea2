//! The order in which the agents of a block run, and what they wait for.
//!
//! One agent runs at a time. It runs until it waits, or until the order gives the turn to another agent. The order follows
//! from a seed: with 0 the agent with the lowest number goes on whenever there is a choice, with 1 the one with the highest,
//! and any other seed draws the agent and the number of its steps. If agents are left and none can go on, the block reports
//! what each of them waits for.

use std::rc::Rc;

use hx_thread::{Knowledge, Warps};

use crate::agent::Agent;
use crate::block::Block;
use crate::code::SiteId;
use crate::error::{Blocked, Fault, LeftOut, SimError};
use crate::formula::Formula;
use crate::overlay::Overlay;
use crate::spin::Polled;

/// The result of one step of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    Stepped,
    /// The agent waits.
    Blocked,
    /// The agent had no step left.
    Ended,
}

/// The wait of an agent: the operation that waits, and the event that ends the wait.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Waiting {
    pub(crate) site: SiteId,
    pub(crate) until: Until,
}

/// The event that an agent waits for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Until {
    /// The agents of all roles have ended.
    Others,
    /// Enough threads have arrived at this named barrier.
    Named(usize),
    /// The phase of this parity of a barrier in memory is complete.
    Phase { barrier: usize, stage: usize, parity: i64, waiters: Warps },
    /// A ticket of a counter holds a number: the phase of this parity of its full barrier is complete.
    Ticket { barrier: usize, stage: usize, parity: i64 },
    /// The agent's own draw has happened, which waits for this empty barrier.
    Drawn { barrier: usize, stage: usize },
    /// Memory that a loop has read has changed.
    Change(Rc<Polled>),
}

/// The result of a step of some agent of blocks that run together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tick {
    Went,
    /// No agent can go on unless another block changes memory.
    Stuck,
    /// All agents have ended.
    Ended,
}

/// A named barrier: threads that arrived since it last let threads pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedBarrier {
    arrived: usize,
    /// The number of threads that let all of them pass; the first that arrives sets it.
    wanted: usize,
    /// The accesses that the arrived threads know to be complete. Each thread that passes learns them.
    told: Knowledge,
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
                    if !self.land_next()? {
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

    /// Arrives at a named barrier with all threads of the agent, and waits there for the others if `waits`.
    ///
    /// # Errors
    /// If there is no such barrier, or it is one of another number of threads, or too many arrive.
    pub(crate) fn named(
        &mut self,
        site: SiteId,
        id: &Formula,
        threads: usize,
        waits: bool,
    ) -> Result<(), SimError> {
        let number = id.scalar(&self.agent.env).map_err(|f| self.failed(site, f))?;
        let malformed = |block: &Self, text: String| block.error(site, None, Fault::Malformed(text));
        let Some(id) = usize::try_from(number).ok().filter(|id| *id < self.named.len()) else {
            return Err(malformed(self, format!("there is no named barrier {number}")));
        };
        let told = self.clock.release(self.agent.who);
        let barrier = &mut self.named[id];
        if barrier.arrived > 0 && barrier.wanted != threads {
            let text = format!("barrier {id} is one of {} and of {threads} threads", barrier.wanted);
            return Err(malformed(self, text));
        }
        barrier.wanted = threads;
        barrier.arrived += self.agent.threads;
        barrier.told.join(&told);
        let (arrived, wanted) = (barrier.arrived, barrier.wanted);
        if arrived > wanted {
            return Err(malformed(self, format!("{arrived} threads arrive at barrier {id} of {wanted}")));
        }
        if waits {
            self.agent.waiting = Some(Waiting { site, until: Until::Named(id) });
        }
        if arrived == wanted {
            let told = std::mem::take(&mut self.named[id]).told;
            for agent in self.parked.iter_mut().chain([&mut self.agent]) {
                if agent.waiting.as_ref().is_some_and(|waiting| waiting.until == Until::Named(id)) {
                    agent.waiting = None;
                    self.clock.acquire(agent.who, &told);
                }
            }
        }
        Ok(())
    }

    /// Fails with [`Fault::Deadlock`] if an agent has not ended. To be called when no agent can go on.
    pub(crate) fn expect_ended(&self) -> Result<(), SimError> {
        let blocked = self.blocked(None);
        match blocked.first() {
            None => Ok(()),
            Some((site, _)) => Err(self.error_of(*site, None, deadlock(blocked, None))),
        }
    }

    /// Returns the waits of the agents that are left, each with its operation. None of them can go on. `index` is the block's if blocks
    /// run together.
    pub(crate) fn blocked(&self, index: Option<[u32; 3]>) -> Vec<(SiteId, Blocked)> {
        let agents = self.parked.iter().chain([&self.agent]);
        let mut left: Vec<&Agent<'_>> = agents.filter(|a| !a.has_ended()).collect();
        left.sort_by_key(|agent| agent.number);
        // The agent of the block waits for those of the roles, which are the cause.
        left.retain(|agent| agent.waiting.as_ref().is_some_and(|w| w.until != Until::Others));
        let first_of = |agent: &Agent<'_>| self.code.own(agent.first as u32);
        let blocked = |threads: [u32; 2], waiting: &Waiting| {
            let site = &self.code.sites[waiting.site as usize];
            let blocked = Blocked {
                threads,
                block: index,
                event: match &waiting.until {
                    until @ Until::Change(_) => format!("{}, which nobody will do", self.event(until)),
                    until => self.event(until),
                },
                last: self.last_arrival(&waiting.until),
                op: site.op,
                origin: site.origin,
                title: site.title.clone(),
            };
            (waiting.site, blocked)
        };
        let all = left.iter().flat_map(|agent| {
            let first = first_of(agent);
            let waiting = agent.waiting.as_ref();
            let own = waiting.map(|waiting| blocked([first, first + agent.threads as u32], waiting));
            // If the agent waits for its draw, the thread that draws is one of those.
            let draw = self.draw_of(agent).filter(|draw| Some(draw) != waiting);
            let warps = first + (agent.warps() as u32 - 1) * self.code.target.limits.lanes;
            own.into_iter().chain(draw.map(|draw| blocked([warps, warps + 1], &draw)))
        });
        all.collect()
    }

    /// Returns an event as text that follows "wait for".
    pub(crate) fn event(&self, until: &Until) -> String {
        match until {
            Until::Others => "the roles".to_owned(),
            Until::Named(id) => {
                let NamedBarrier { arrived, wanted, .. } = &self.named[*id];
                format!("{} of the {wanted} threads of barrier {id}", wanted - arrived)
            }
            Until::Phase { barrier, stage, .. }
            | Until::Ticket { barrier, stage, .. }
            | Until::Drawn { barrier, stage } => self.phase_text(*barrier, *stage),
            Until::Change(polled) => self.change_text(polled),
        }
    }
}

/// Returns the fault of agents that wait for ever.
pub(crate) fn deadlock(blocked: Vec<(SiteId, Blocked)>, left_out: Option<LeftOut>) -> Fault {
    Fault::Deadlock { blocked: blocked.into_iter().map(|(_, blocked)| blocked).collect(), left_out }
}

//! Draws of numbers from counters, and the reads of the tickets that hold them.
//!
//! One thread of a scope draws, and waits until everyone has read the number that the ticket holds. The first thread of the scope
//! goes on meanwhile: it can issue copies. So an agent with a draw in flight makes the steps that need no other thread, and waits
//! before any other step. The seed selects the time of the draw: with 0 as late as possible, with 1 as soon as possible.

use hx_thread::Knowledge;

use crate::block::Block;
use crate::block::agent::Agent;
use crate::block::effect::Arrived;
use crate::block::tickets::Drawing;
use crate::block::waiting::{Until, Waiting};
use crate::code::{DrawCode, DrawnCode, Step};
use crate::error::{Fault, SimError};

/// The state of a ticket at the top of a round.
pub(crate) enum Read {
    /// The number has not been drawn yet.
    Waits,
    Number(i64),
    /// The number ends the loop.
    End,
}

impl Block<'_> {
    /// Begins a draw by the running agent. The number is drawn later, by [`Block::draw_next`].
    ///
    /// # Errors
    /// If there is no such ticket, or an expression has no value.
    pub(crate) fn draw(&mut self, draw: &DrawCode) -> Result<(), SimError> {
        let DrawCode { site, counter, index, parity } = draw;
        let ticket = self.stage_of(*site, self.code.counters[*counter].empty, index)?;
        let parity = parity.scalar(&self.agent.env).map_err(|f| self.failed(*site, f))?;
        self.counters[*site as usize].instructions += 1;
        self.agent.drawing = Some(Drawing { site: *site, counter: *counter, ticket, parity });
        self.tickets.pending += 1;
        Ok(())
    }

    /// Returns the wait of the running agent for its draw, if its next step needs the thread that draws; otherwise `None`.
    pub(crate) fn wait_for_draw(&self, next: Option<&Step>) -> Option<Waiting> {
        let is_apart = next.is_some_and(|step| is_apart(step, self.agent.warps()));
        self.draw_of(&self.agent).filter(|_| !is_apart)
    }

    /// Returns the wait for the draw that an agent has in flight; `None` if it has none.
    pub(crate) fn draw_of(&self, agent: &Agent<'_>) -> Option<Waiting> {
        let Drawing { site, counter, ticket, .. } = *agent.drawing.as_ref()?;
        let until = Until::Drawn { barrier: self.code.counters[counter].empty, stage: ticket };
        Some(Waiting { site, until })
    }

    /// Returns the agents whose draw can happen, sorted by number. The second value is the position in `parked`, or the length
    /// of `parked` for the running agent.
    fn ready_to_draw(&self) -> Vec<(usize, usize)> {
        if !self.tickets.has_pending() {
            return Vec::new();
        }
        let is_ready = |agent: &Agent<'_>| {
            agent.drawing.as_ref().is_some_and(|draw| {
                let empty = self.code.counters[draw.counter].empty;
                self.phases.awaited(empty, draw.ticket, draw.parity).is_some()
            })
        };
        let agents = self.parked.iter().chain([&self.agent]).enumerate();
        let ready = agents.filter(|(_, agent)| is_ready(agent)).map(|(place, agent)| (agent.number, place));
        let mut ready: Vec<(usize, usize)> = ready.collect();
        ready.sort_unstable();
        ready
    }

    /// Reports whether a draw can happen.
    pub(crate) fn can_draw(&self) -> bool {
        !self.ready_to_draw().is_empty()
    }

    /// Lets a draw happen instead of the arrival of one of `copies` copies. Returns false if a copy is to arrive, or if no draw
    /// can happen.
    ///
    /// # Errors
    /// On a fault of the arrival that tells the number.
    pub(crate) fn draw_next(&mut self, copies: usize) -> Result<bool, SimError> {
        let ready = self.ready_to_draw();
        if ready.is_empty() {
            return Ok(false);
        }
        let chosen = match self.config.seed {
            0 | 1 if copies > 0 => return Ok(false),
            0 | 1 => 0,
            _ => self.phases.below(copies + ready.len()),
        };
        let Some((_, place)) = chosen.checked_sub(copies).map(|at| ready[at]) else { return Ok(false) };
        let agent = self.parked.get_mut(place).unwrap_or(&mut self.agent);
        let Some(Drawing { site, counter, ticket, .. }) = agent.drawing.take() else { return Ok(false) };
        self.tickets.pending -= 1;
        let numbers = &mut self.tickets.numbers[counter];
        let number = (numbers.drawn, numbers.draw());
        self.tickets.held[counter][ticket] = Some(number);
        let (barrier, known) = (self.code.counters[counter].full, Knowledge::default());
        self.arrived(&Arrived { site, barrier, stage: ticket, arrivals: 1, known })?;
        Ok(true)
    }

    /// Reads the number of a round, and gives the ticket back. If the number is not there, the agent waits.
    ///
    /// # Errors
    /// If there is no such ticket or it holds the number of another round, if an expression has no value, and on a fault of the
    /// arrival that gives the ticket back.
    pub(crate) fn read_ticket(&mut self, code: &DrawnCode, round: u64) -> Result<Read, SimError> {
        let DrawnCode { site, counter, index, parity, .. } = code;
        let (site, at) = (*site, *counter);
        let counter = &self.code.counters[at];
        let ticket = self.stage_of(site, counter.full, index)?;
        let parity = parity.scalar(&self.agent.env).map_err(|f| self.failed(site, f))?;
        if self.phases.awaited(counter.full, ticket, parity).is_none() {
            let until = Until::Ticket { barrier: counter.full, stage: ticket, parity };
            self.agent.waiting = Some(Waiting { site, until });
            return Ok(Read::Waits);
        }
        let number = match self.tickets.held[at][ticket] {
            Some((draw, number)) if draw == round => number,
            other => {
                let held = other.map_or_else(|| "nothing".to_owned(), |(draw, _)| format!("draw {draw}"));
                let name = &counter.name;
                let text = format!(
                    "round {round} of a loop over `{name}` reads ticket {ticket}, which holds {held}"
                );
                return Err(self.error(site, None, Fault::Malformed(text)));
            }
        };
        self.counters[site as usize].instructions += self.agent.warps() as u64;
        let arrivals = (self.agent.threads as u32 / self.code.target.limits.lanes).max(1);
        let (barrier, known) = (counter.empty, Knowledge::default());
        self.arrived(&Arrived { site, barrier, stage: ticket, arrivals, known })?;
        Ok(if number < counter.limit { Read::Number(number) } else { Read::End })
    }
}

/// Reports whether an agent of `warps` warps may make a step while the first thread of its last warp draws: a step of the
/// agent's first thread alone, or one that changes integers only.
fn is_apart(step: &Step, warps: usize) -> bool {
    // The loop waits for the number itself.
    matches!(step, Step::Drawn(_))
        || warps > 1
            && matches!(
                step,
                Step::SetSlot { .. }
                    | Step::SetLanes { .. }
                    | Step::For { .. }
                    | Step::If { .. }
                    | Step::While { .. }
                    | Step::Await { .. }
                    | Step::Expect { .. }
                    | Step::BulkLoad { .. }
                    | Step::BulkStore(_)
                    | Step::BulkCommit { .. }
                    | Step::BulkWait { .. }
                    | Step::Fence { .. }
            )
}

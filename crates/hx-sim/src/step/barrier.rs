//! Barriers: arrivals and waits at barriers in memory and at named barriers.
//!
//! A phase of a barrier in memory also waits for the bytes that an arrival announces, and each bulk copy takes off its own when
//! they become visible.

use hx_thread::{Arrivals, Knowledge, Waiters, Warps};

use crate::block::Block;
use crate::block::effect::{Arrived, Effect};
use crate::block::phases::Arriving;
use crate::block::waiting::{Until, Waiting};
use crate::code::SiteId;
use crate::error::{Fault, SimError};
use crate::formula::Formula;

impl Block<'_> {
    /// Returns the stage that a statement names.
    ///
    /// # Errors
    /// If the pipeline has no such stage, or the expression has no value.
    pub(crate) fn stage_of(&self, site: SiteId, barrier: usize, index: &Formula) -> Result<usize, SimError> {
        let index = index.scalar(&self.agent.env).map_err(|f| self.failed(site, f))?;
        let stages = self.code.barriers[barrier].stages;
        match usize::try_from(index) {
            Ok(stage) if stage < stages as usize => Ok(stage),
            _ => Err(self.error(
                site,
                None,
                Fault::Malformed(format!("stage {index} of a pipeline of {stages}")),
            )),
        }
    }

    pub(crate) fn arrive(
        &mut self,
        site: SiteId,
        (barrier, index): (usize, &Formula),
        by: Arrivals,
        blocks: &[Formula],
    ) -> Result<(), SimError> {
        let stage = self.stage_of(site, barrier, index)?;
        self.counters[site as usize].instructions += self.agent.warps() as u64;
        let (warps, threads) = (self.agent.warp_set, self.agent.threads as u32);
        if by == Arrivals::Copies {
            self.phases.last[barrier][stage] = Some(site);
            let known = self.clock.signal_arrivals(warps);
            let copies = self.agent.flight.take_signals();
            let bytes = 0;
            self.phases.arriving.push(Arriving { barrier, stage, arrivals: threads, bytes, known, copies });
            return Ok(());
        }
        let limits = &self.code.target.limits;
        let arrivals = threads / if by == Arrivals::Warps { limits.lanes } else { limits.group };
        let known = self.clock.release(warps);
        let arrived = Arrived { site, barrier, stage, arrivals: arrivals.max(1), known };
        if blocks.is_empty() {
            return self.arrived(&arrived);
        }
        for rank in self.ranks(site, blocks)? {
            self.send(rank, Effect::Arrived(arrived.clone()))?;
        }
        Ok(())
    }

    /// Counts the arrivals of threads of this or of another block.
    ///
    /// # Errors
    /// If the phase has all its arrivals and still waits for bytes, or if a warp may miss a phase.
    pub(crate) fn arrived(&mut self, arrived: &Arrived) -> Result<(), SimError> {
        let Arrived { site, barrier, stage, arrivals, known } = arrived;
        self.phases.last[*barrier][*stage] = Some(*site);
        self.count_arrivals(*site, (*barrier, *stage), *arrivals, known)
    }

    /// Lets one thread arrive and announce `bytes` more bytes, for which its phase waits.
    ///
    /// # Errors
    /// As [`Block::stage_of`] and [`Block::arrived`].
    pub(crate) fn expect_bytes(
        &mut self,
        site: SiteId,
        barrier: usize,
        index: &Formula,
        bytes: u32,
    ) -> Result<(), SimError> {
        let stage = self.stage_of(site, barrier, index)?;
        self.counters[site as usize].instructions += 1;
        self.phases.last[barrier][stage] = Some(site);
        let (base, lanes) = ((self.rank * self.code.stride()) as u32, self.code.target.limits.lanes);
        let first = Warps::of_range(self.agent.first as u32 - base, lanes, lanes).of_block(base / lanes);
        let known = self.clock.release(first);
        self.clock.level(self.agent.warp_set);
        self.phases.barriers[barrier][stage].expect(bytes);
        self.count_arrivals(site, (barrier, stage), 1, &known)
    }

    pub(super) fn count_arrivals(
        &mut self,
        site: SiteId,
        (barrier, stage): (usize, usize),
        arrivals: u32,
        known: &Knowledge,
    ) -> Result<(), SimError> {
        let phase = &mut self.phases.barriers[barrier][stage];
        if phase.arrive(arrivals, known) {
            return self.expect_in_time(barrier, stage);
        }
        let (pipe, bytes) = (&self.code.barriers[barrier].pipe, phase.bytes());
        let text =
            format!("stage {stage} of `{pipe}` has all arrivals of its phase and waits for {bytes} bytes");
        Err(self.error(site, None, Fault::Malformed(text)))
    }

    /// Makes the agent wait for a phase.
    ///
    /// # Errors
    /// If the pipeline has no such stage, or an expression has no value.
    pub(crate) fn await_phase(
        &mut self,
        site: SiteId,
        (barrier, index): (usize, &Formula),
        parity: &Formula,
        by: Waiters,
    ) -> Result<(), SimError> {
        let stage = self.stage_of(site, barrier, index)?;
        let parity = parity.scalar(&self.agent.env).map_err(|f| self.failed(site, f))?;
        let (warps, waiters) = match by {
            Waiters::All => (self.agent.warps(), self.agent.warp_set),
            Waiters::First => (1, self.agent.warp_set.first()),
        };
        self.counters[site as usize].instructions += warps as u64;
        self.agent.waiting = Some(Waiting { site, until: Until::Phase { barrier, stage, parity, waiters } });
        Ok(())
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
        let known = self.clock.release(self.agent.warp_set);
        let barrier = &mut self.named[id];
        if barrier.arrived > 0 && barrier.wanted != threads {
            let text = format!("barrier {id} is one of {} and of {threads} threads", barrier.wanted);
            return Err(malformed(self, text));
        }
        barrier.wanted = threads;
        barrier.arrived += self.agent.threads;
        barrier.known.join(&known);
        let (arrived, wanted) = (barrier.arrived, barrier.wanted);
        if arrived > wanted {
            return Err(malformed(self, format!("{arrived} threads arrive at barrier {id} of {wanted}")));
        }
        if waits {
            self.agent.waiting = Some(Waiting { site, until: Until::Named(id) });
        }
        if arrived == wanted {
            let known = std::mem::take(&mut self.named[id]).known;
            for agent in self.parked.iter_mut().chain([&mut self.agent]) {
                if agent.waiting.as_ref().is_some_and(|waiting| waiting.until == Until::Named(id)) {
                    agent.waiting = None;
                    self.clock.acquire(agent.warp_set, &known);
                }
            }
        }
        Ok(())
    }
}

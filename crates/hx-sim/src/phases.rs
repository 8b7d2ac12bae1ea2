//! Barriers in memory: arrivals, waits, and the copies that arrive on them.
//!
//! A phase also waits for the bytes that an arrival announces, and each bulk copy takes off its own when they become visible.
//!
//! A copy that signals a barrier reads its source when it is issued, and its bytes become visible at some time between the
//! statement that lets it arrive and the end of a wait for the barrier. The seed of the run selects the time, so that a
//! program that reads a stage too early meets the old bytes at least with the seed that lets copies arrive last.

use hx_thread::{Arrivals, BarrierKind, Clock, Epoch, Knowledge, Phase, Waiters, Warps};
use hx_tile::Origin;

use crate::block::Block;
use crate::cluster::{Arrived, Effect};
use crate::code::{Code, SiteId};
use crate::error::{Fault, SimError};
use crate::flight::Group;
use crate::formula::Formula;
use crate::late::Passed;
use crate::turn::{Until, Waiting};

/// The barriers of a block.
#[derive(Clone, Debug)]
pub(crate) struct Phases {
    /// Indexed by barrier, then by stage.
    barriers: Vec<Vec<Phase>>,
    /// For each barrier the number of its first stage among the stages of all barriers of all blocks that run together.
    first: Vec<usize>,
    /// The last operation that arrived at each stage.
    last: Vec<Vec<Option<SiteId>>>,
    /// The waits that warps have passed at each stage since its last phase became complete.
    pub(crate) passed: Vec<Vec<Vec<Passed>>>,
    /// The bulk copies that no thread may have waited for: the time, the operation and the shared tensor.
    unwaited: Vec<(Epoch, SiteId, usize)>,
    /// The copies that have not arrived, in the order in which they were issued.
    arriving: Vec<Arriving>,
    seed: u64,
    /// The state of a generator of random numbers, never 0.
    random: u64,
}

/// A barrier in memory at one moment: one stage of a pipeline, or one ticket of a counter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// The position in [`hx_thread::ThreadProgram::barriers`].
    pub barrier: usize,
    pub stage: usize,
    /// The number of complete phases.
    pub complete: u64,
    /// The arrivals that the current phase still needs, and all arrivals of a phase.
    pub pending: [u32; 2],
    /// The bytes of bulk copies that the current phase still needs.
    pub bytes: i64,
}

/// From this number of copies on, the block forgets those that threads have waited for.
const MOST_UNWAITED: usize = 64;

/// Copies of some threads that arrive together.
#[derive(Clone, Debug)]
struct Arriving {
    barrier: usize,
    stage: usize,
    arrivals: u32,
    /// The bytes of a bulk copy; 0 for copies that signal.
    bytes: u32,
    known: Knowledge,
    copies: Group,
}

impl Phases {
    pub(crate) fn new(code: &Code, seed: u64, (rank, block): (usize, [u32; 3])) -> Phases {
        let stages = |b: &hx_thread::Barrier| vec![Phase::new(b.count); b.stages as usize];
        let block =
            block.iter().fold(seed, |mixed, index| mixed.wrapping_mul(31).wrapping_add(u64::from(*index)));
        let all: usize = code.barriers.iter().map(|b| b.stages as usize).sum();
        let first = code
            .barriers
            .iter()
            .scan(rank * all, |next, b| Some(std::mem::replace(next, *next + b.stages as usize)));
        Phases {
            first: first.collect(),
            barriers: code.barriers.iter().map(stages).collect(),
            last: code.barriers.iter().map(|b| vec![None; b.stages as usize]).collect(),
            passed: code.barriers.iter().map(|b| vec![Vec::new(); b.stages as usize]).collect(),
            unwaited: Vec::new(),
            arriving: Vec::new(),
            seed,
            random: block.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// Returns the state of each stage of each barrier.
    pub(crate) fn stages(&self) -> Vec<Stage> {
        let of_barrier = |(barrier, stages): (usize, &Vec<Phase>)| {
            let of_stage = move |(stage, phase): (usize, &Phase)| {
                let pending = [phase.pending(), phase.count()];
                Stage { barrier, stage, complete: phase.complete(), pending, bytes: phase.bytes() }
            };
            stages.iter().enumerate().map(of_stage).collect::<Vec<_>>()
        };
        self.barriers.iter().enumerate().flat_map(of_barrier).collect()
    }

    /// Returns a random number below `bound` (xorshift).
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % bound.max(1)
    }

    /// Returns the knowledge that a wait for a phase adds; `None` if the phase is not complete.
    pub(crate) fn awaited(&self, barrier: usize, stage: usize, parity: i64) -> Option<&Knowledge> {
        self.barriers[barrier][stage].awaited(parity)
    }

    /// Returns the number of complete phases of a stage.
    pub(crate) fn complete(&self, barrier: usize, stage: usize) -> u64 {
        self.barriers[barrier][stage].complete()
    }

    /// Returns the joined knowledge of all threads that arrived in complete phases of a stage.
    pub(crate) fn told(&self, barrier: usize, stage: usize) -> &Knowledge {
        self.barriers[barrier][stage].released()
    }

    /// Returns the epoch of a bulk copy that a thread issues now and that signals a stage.
    pub(crate) fn fill(&self, clock: &Clock, thread: u32, (barrier, stage): (usize, usize)) -> Epoch {
        let complete = self.barriers[barrier][stage].complete();
        clock.fill(thread, self.first[barrier] + stage, complete)
    }

    /// Remembers that a bulk copy of an operation fills a shared tensor.
    pub(crate) fn remember(&mut self, clock: &Clock, epoch: Epoch, (site, tensor): (SiteId, usize)) {
        if self.unwaited.len() >= MOST_UNWAITED {
            self.unwaited.retain(|(epoch, ..)| clock.is_in_flight(*epoch));
        }
        self.unwaited.push((epoch, site, tensor));
    }

    /// Adds a bulk copy that has not arrived. A thread that waits for it learns `known`.
    pub(crate) fn issue(
        &mut self,
        (barrier, stage): (usize, usize),
        bytes: u32,
        known: Knowledge,
        copies: Group,
    ) {
        self.arriving.push(Arriving { barrier, stage, arrivals: 0, bytes, known, copies });
    }

    /// Reports whether some copies have not arrived.
    #[inline]
    pub(crate) fn has_arriving(&self) -> bool {
        !self.arriving.is_empty()
    }

    /// Takes the copies that arrive next: the oldest with seeds 0 and 1, random ones with other seeds; `None` if no copies are
    /// in flight.
    fn next_arriving(&mut self) -> Option<Arriving> {
        let count = self.arriving.len();
        if count == 0 {
            return None;
        }
        let at = if self.seed < 2 { 0 } else { self.below(count) };
        Some(self.arriving.remove(at))
    }
}

/// The mean number of steps between two arrivals of copies that nobody waits for yet.
const PATIENCE: usize = 8;

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
        let (who, threads) = (self.agent.who, self.agent.threads as u32);
        if by == Arrivals::Copies {
            self.phases.last[barrier][stage] = Some(site);
            let known = self.clock.signal_arrivals(who);
            let copies = self.agent.flight.take_signals();
            let bytes = 0;
            self.phases.arriving.push(Arriving { barrier, stage, arrivals: threads, bytes, known, copies });
            return Ok(());
        }
        let limits = &self.code.target.limits;
        let arrivals = threads / if by == Arrivals::Warps { limits.lanes } else { limits.group };
        let known = self.clock.release(who);
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
        self.clock.level(self.agent.who);
        self.phases.barriers[barrier][stage].expect(bytes);
        self.count_arrivals(site, (barrier, stage), 1, &known)
    }

    fn count_arrivals(
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
            Waiters::All => (self.agent.warps(), self.agent.who),
            Waiters::First => (1, self.agent.who.first()),
        };
        self.counters[site as usize].instructions += warps as u64;
        self.agent.waiting = Some(Waiting { site, until: Until::Phase { barrier, stage, parity, waiters } });
        Ok(())
    }

    /// Lets the next copies arrive, or a draw happen. Returns false if there is neither.
    ///
    /// # Errors
    /// On a fault of the arrival.
    pub(crate) fn land_next(&mut self) -> Result<bool, SimError> {
        if self.tickets.has_pending() && self.draw_next(self.phases.arriving.len())? {
            return Ok(true);
        }
        let Some(next) = self.phases.next_arriving() else { return Ok(false) };
        let Arriving { barrier, stage, arrivals, bytes, known, copies } = next;
        self.land(copies);
        if bytes > 0 {
            self.phases.barriers[barrier][stage].receive(bytes, &known);
            self.expect_in_time(barrier, stage)?;
        }
        if arrivals > 0 {
            let site = self.phases.last[barrier][stage].unwrap_or_default();
            self.count_arrivals(site, (barrier, stage), arrivals, &known)?;
        }
        Ok(true)
    }

    /// Reports whether copies can arrive, or a draw can happen.
    pub(crate) fn can_land(&self) -> bool {
        self.phases.has_arriving() || self.can_draw()
    }

    /// Lets copies arrive before anyone waits for them: none with seed 0, all with seed 1, some with another seed.
    ///
    /// # Errors
    /// On a fault of an arrival.
    #[inline]
    pub(crate) fn land_early(&mut self) -> Result<(), SimError> {
        if self.phases.seed == 0 || !self.phases.has_arriving() && !self.tickets.has_pending() {
            return Ok(());
        }
        if self.phases.seed == 1 {
            while self.land_next()? {}
        } else if self.phases.below(PATIENCE) == 0 {
            self.land_next()?;
        }
        Ok(())
    }

    /// Fails if no thread has waited for a bulk copy. To be called when the block has ended.
    pub(crate) fn expect_waited(&self) -> Result<(), SimError> {
        let mut copies = self.phases.unwaited.iter();
        let Some((epoch, site, tensor)) = copies.find(|(epoch, ..)| self.clock.is_in_flight(*epoch)) else {
            return Ok(());
        };
        let fault = Fault::Unwaited { tensor: self.code.shared[*tensor].name.clone() };
        Err(self.error_of(*site, Some(epoch.thread), fault))
    }

    /// Returns the event of a wait for a phase, as text that follows "wait for".
    pub(crate) fn phase_text(&self, barrier: usize, stage: usize) -> String {
        let hx_thread::Barrier { kind, pipe, count, sums, .. } = &self.code.barriers[barrier];
        let phase = &self.phases.barriers[barrier][stage];
        let pending = phase.pending();
        let missing = match (pending, phase.bytes()) {
            (0, bytes) => format!("{bytes} bytes are missing"),
            _ => format!("{pending} of {count} arrivals are missing"),
        };
        if *sums {
            return match kind {
                BarrierKind::Full => format!("the elements of other blocks ({missing})"),
                BarrierKind::Empty => format!("another block to read its elements ({missing})"),
            };
        }
        let event = match (self.code.counter_of(barrier), kind) {
            (None, BarrierKind::Full) => format!("the copies into stage {stage}"),
            (None, BarrierKind::Empty) => format!("the release of stage {stage}"),
            (Some(_), BarrierKind::Full) => format!("the number in ticket {stage}"),
            (Some(_), BarrierKind::Empty) => format!("the scopes that read ticket {stage}"),
        };
        format!("{event} of `{pipe}` ({missing})")
    }

    /// Returns the place of the last operation that arrived for an event, or wrote the element that a loop polls, with a label.
    /// If nothing has arrived, it is the place where the pipeline was made. `None` if the operation has no place, and for other
    /// events.
    pub(crate) fn last_arrival(&self, until: &Until) -> Option<(Origin, &'static str)> {
        if let Until::Change(polled) = until {
            let site = &self.code.sites[self.change_site(polled)? as usize];
            return Some((site.origin?, "it was written last here"));
        }
        let (Until::Phase { barrier, stage, .. }
        | Until::Ticket { barrier, stage, .. }
        | Until::Drawn { barrier, stage }) = until
        else {
            return None;
        };
        let last = self.phases.last[*barrier][*stage];
        match last {
            Some(site) => Some((self.code.sites[site as usize].origin?, "the last arrival for it is here")),
            None => {
                let what = match self.code.counter_of(*barrier) {
                    None => "nothing has arrived at this pipeline for it",
                    Some(_) => "nobody has drawn from this counter or read its number",
                };
                Some((self.code.barriers[*barrier].origin, what))
            }
        }
    }
}

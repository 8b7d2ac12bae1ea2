//! The barriers of a block in memory: the phases of their stages, and the copies that have not arrived on them.
//!
//! A phase also waits for the bytes that an arrival announces, and each bulk copy takes off its own when they become visible.

use hx_thread::{Clock, Epoch, Knowledge, Phase};

use super::flight::Group;
use crate::code::{Code, SiteId};

/// The barriers of a block.
#[derive(Clone, Debug)]
pub(crate) struct Phases {
    /// Indexed by barrier, then by stage.
    pub(crate) barriers: Vec<Vec<Phase>>,
    /// For each barrier the number of its first stage among the stages of all barriers of all blocks that run together.
    pub(crate) first: Vec<usize>,
    /// The last operation that arrived at each stage.
    pub(crate) last: Vec<Vec<Option<SiteId>>>,
    /// The waits that warps have passed at each stage since its last phase became complete.
    pub(crate) passed: Vec<Vec<Vec<Passed>>>,
    /// The bulk copies that no thread may have waited for: the time, the operation and the shared tensor.
    pub(crate) unwaited: Vec<(Epoch, SiteId, usize)>,
    /// The copies that have not arrived, in the order in which they were issued.
    pub(crate) arriving: Vec<Arriving>,
    pub(crate) seed: u64,
    /// The state of a generator of random numbers, never 0.
    pub(crate) random: u64,
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
pub(crate) const MOST_UNWAITED: usize = 64;

/// Copies of some threads that arrive together.
#[derive(Clone, Debug)]
pub(crate) struct Arriving {
    pub(crate) barrier: usize,
    pub(crate) stage: usize,
    pub(crate) arrivals: u32,
    /// The bytes of a bulk copy; 0 for copies that signal.
    pub(crate) bytes: u32,
    pub(crate) known: Knowledge,
    pub(crate) copies: Group,
}

/// The warps of an agent that passed a wait.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    pub(crate) site: SiteId,
    /// The number of complete phases when the warps passed.
    pub(crate) complete: u64,
    /// The time at which each warp passed.
    pub(crate) times: Vec<Epoch>,
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
    pub(crate) fn arrived_knowledge(&self, barrier: usize, stage: usize) -> &Knowledge {
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
    pub(crate) fn next_arriving(&mut self) -> Option<Arriving> {
        let count = self.arriving.len();
        if count == 0 {
            return None;
        }
        let at = if self.seed < 2 { 0 } else { self.below(count) };
        Some(self.arriving.remove(at))
    }
}

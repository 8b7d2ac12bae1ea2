//! The run of one block, of one cluster, or of all blocks if they communicate, that moves forwards and backwards.
//!
//! A run with the same seed is always the same, so a moment of it is the number of steps before it. A playback keeps copies of the
//! run's state at some moments, and reaches any other moment by running on from the copy before it. The copies take a bounded
//! amount of memory: if they exceed it, every second one is dropped and the distance between them doubles.

mod prepared;
mod view;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::block::Block;
use crate::block::agent::Next;
use crate::code::{SiteId, Step};
use crate::config::Config;
use crate::error::{Fault, SimError};
use crate::schedule::Grid;
use crate::trace::{Access, Memory, Trace};

pub use prepared::{Prepared, prepare};
pub use view::{AgentState, Registers};

/// The number of steps between the first copies.
const INTERVAL: u64 = 64;

/// An agent: threads that run the same statements in step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AgentId {
    /// The position of its block in [`Prepared::blocks`].
    pub rank: usize,
    /// Its number in the block. The agent of all threads is 0; those of the roles follow.
    pub number: usize,
}

/// The operation that an agent has executed last, or executes.
#[derive(Clone, Debug, Default)]
struct Current {
    site: SiteId,
    /// A body around the operation has ended since.
    left: bool,
    /// The number of executions of operations that have begun.
    begun: u64,
    /// The slots that the agent has set.
    set: Vec<u32>,
}

/// The state at one moment.
#[derive(Clone)]
struct State<'p> {
    grid: Grid<'p>,
    step: u64,
    current: BTreeMap<AgentId, Current>,
}

/// A recorded run, at one moment.
pub struct Playback<'p> {
    prepared: &'p Prepared,
    now: State<'p>,
    /// In ascending order; the first is from before the first step.
    copies: Vec<State<'p>>,
    interval: u64,
    /// The bytes that the copies may take.
    budget: usize,
    held: usize,
    length: u64,
    outcome: Option<SimError>,
    watched: Option<(usize, Trace)>,
    /// The moment to which the last search for an access led; `None` if it found no access.
    found_before: Option<u64>,
}

impl std::fmt::Debug for Playback<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Playback")
            .field("step", &self.now.step)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

impl<'p> Playback<'p> {
    /// Runs the blocks to their end or to a fault, with copies of the state that take about `budget` bytes. The playback is then at
    /// the end.
    ///
    /// # Errors
    /// If the run was cancelled. Other faults are part of the recorded run.
    pub fn record(
        prepared: &'p Prepared,
        config: &'p Config<'p>,
        budget: usize,
    ) -> Result<Playback<'p>, SimError> {
        let now = State { grid: prepared.grid(config), step: 0, current: BTreeMap::new() };
        let (copies, outcome) = (Vec::new(), None);
        let mut playback = Playback {
            prepared,
            now,
            copies,
            interval: INTERVAL,
            budget,
            held: 0,
            length: u64::MAX,
            outcome,
            watched: None,
            found_before: None,
        };
        loop {
            if playback.now.step.is_multiple_of(playback.interval) {
                playback.copy();
            }
            match playback.perform() {
                Ok(true) => {}
                Ok(false) => break,
                Err(SimError { fault: Fault::Cancelled, .. }) => return Err(Fault::Cancelled.into()),
                Err(error) => {
                    playback.outcome = Some(error);
                    break;
                }
            }
        }
        let end = playback.now.step;
        playback.length = end;
        // The step with the fault has changed the state in part.
        playback.restore(end);
        playback.seek(end);
        Ok(playback)
    }

    /// Keeps a copy of the state. If the copies exceed the budget, drops every second one.
    fn copy(&mut self) {
        self.held += footprint(&self.now.grid);
        self.copies.push(self.now.clone());
        while self.held > self.budget && self.copies.len() > 2 {
            let mut at = 0;
            self.copies.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.interval *= 2;
            self.held = self.copies.iter().map(|copy| footprint(&copy.grid)).sum();
        }
    }

    /// Returns the bytes that the copies take, about.
    pub fn held_bytes(&self) -> usize {
        self.held
    }

    /// Returns the number of steps before this moment.
    pub fn step(&self) -> u64 {
        self.now.step
    }

    /// Returns the number of steps of the whole run.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the fault that ended the run; `None` if it ran to its end.
    pub fn outcome(&self) -> Option<&SimError> {
        self.outcome.as_ref()
    }

    /// Performs the next step and updates `current` of the agent that makes it. Returns false at the end.
    ///
    /// # Errors
    /// On a fault of the step.
    fn perform(&mut self) -> Result<bool, SimError> {
        if let Some((rank, trace)) = &self.watched {
            let is_global = matches!(trace.wanted.0, Memory::Global(_));
            let watched = |block: &&mut Block<'_>| {
                is_global || *rank == if block.code.communicates { block.number as usize } else { block.rank }
            };
            for block in self.now.grid.blocks_mut().filter(watched) {
                block.trace = Some(Box::new(trace.clone()));
            }
        }
        if !self.now.grid.ensure_begun() {
            return Ok(false);
        }
        let id = self.running();
        let Some(block) = self.now.grid.running() else { return Ok(false) };
        let next = block.agent.next();
        let blocked = block.agent.waiting.is_some();
        if !self.now.current.contains_key(&id) {
            // The agent of a role begins with the integers of the agent of the block.
            let of_block = self.now.current.get(&AgentId { number: 0, ..id });
            let set = of_block.map(|block| block.set.clone()).unwrap_or_default();
            self.now.current.insert(id, Current { set, ..Current::default() });
        }
        let goes_on = self.now.grid.tick()?;
        let waits = self.agent(id).is_some_and(|agent| agent.waiting.is_some());
        if let Some(current) = self.now.current.get_mut(&id).filter(|_| !(blocked && waits)) {
            current.pass(next);
        }
        self.now.step += u64::from(goes_on);
        Ok(goes_on)
    }

    /// Makes the next step. Returns false at the end of the recorded run, and if the caller cancels.
    pub fn advance(&mut self) -> bool {
        if self.now.step >= self.length {
            return false;
        }
        let here = self.now.step;
        let advanced = self.perform().unwrap_or(false);
        if !advanced {
            // A cancelled step has changed the state in part.
            self.restore(here);
        }
        advanced
    }

    /// Returns to the last copy that was made after at most `step` steps.
    fn restore(&mut self, step: u64) {
        let at = self.copies.partition_point(|copy| copy.step <= step).saturating_sub(1);
        if let Some(copy) = self.copies.get(at) {
            self.now = copy.clone();
        }
    }

    /// Goes to the moment after `step` steps, or to the end.
    pub fn seek(&mut self, step: u64) {
        let step = step.min(self.length);
        let next = self.copies.partition_point(|copy| copy.step <= self.now.step);
        let has_copy_between = self.copies.get(next).is_some_and(|copy| copy.step <= step);
        if step < self.now.step || has_copy_between {
            self.restore(step);
        }
        while self.now.step < step && self.advance() {}
    }

    /// Goes to the next moment for which `wanted` returns true. Returns false, at the end, if there is none.
    pub fn forward(&mut self, wanted: &mut dyn FnMut(&Playback<'p>) -> bool) -> bool {
        while self.advance() {
            if wanted(self) {
                return true;
            }
        }
        false
    }

    /// Goes to the last moment before this one for which `wanted` returns true. Returns false, at the beginning, if there is
    /// none.
    pub fn backward(&mut self, wanted: &mut dyn FnMut(&Playback<'p>) -> bool) -> bool {
        self.last_before(self.now.step, wanted)
    }

    /// Goes to the last wanted moment after fewer than `end` steps. The steps from one copy to the next are searched together, the
    /// later ones first.
    fn last_before(&mut self, end: u64, wanted: &mut dyn FnMut(&Playback<'p>) -> bool) -> bool {
        let Some(mut last) = end.checked_sub(1) else {
            self.seek(0);
            return false;
        };
        loop {
            // A moment is tested after the step that leads to it, because its accesses are those of that step.
            self.restore(last.saturating_sub(1));
            let begin = self.now.step;
            let mut found = (begin == 0 && wanted(self)).then_some(0);
            while self.now.step < last && self.advance() {
                if wanted(self) {
                    found = Some(self.now.step);
                }
            }
            if let Some(step) = found {
                self.restore(step.saturating_sub(1));
                self.seek(step);
                return true;
            }
            if begin == 0 {
                self.seek(0);
                return false;
            }
            // The caller has cancelled the search.
            if self.now.step < last {
                return false;
            }
            last = begin;
        }
    }

    /// Goes to the moment before the next or the previous step that makes a wanted access to a place: in the memory of a block,
    /// or in global memory by any block. `rank` is as in [`AgentId::rank`], and the range of the place counts bytes, or for
    /// registers the values of a thread. Returns the access; if there is none, the moment stays.
    pub fn find_access(
        &mut self,
        rank: usize,
        place: (Memory, Range<usize>),
        forward: bool,
        wanted: &dyn Fn(&Access) -> bool,
    ) -> Option<Access> {
        let here = self.now.step;
        self.watch(rank, place);
        let mut found = None;
        let mut matches = |playback: &Playback<'p>| {
            let access = playback.accesses().find(|access| wanted(access)).copied();
            found = access.or(found);
            access.is_some()
        };
        // A search stops before the step that it finds. The next search must not find that step again.
        let was_found = self.found_before == Some(here);
        let ran = match forward {
            true => (!was_found || self.advance()) && self.forward(&mut matches),
            false => self.last_before(here + 1, &mut matches),
        };
        let step = if ran { self.now.step - 1 } else { here };
        self.unwatch();
        self.seek(step);
        self.found_before = ran.then_some(step);
        found.filter(|_| ran)
    }

    /// Makes every step list its accesses to a place in the memory of a block.
    fn watch(&mut self, rank: usize, wanted: (Memory, Range<usize>)) {
        self.watched = Some((rank, Trace { wanted, found: Vec::new() }));
    }

    /// Ends [`Playback::watch`].
    fn unwatch(&mut self) {
        self.watched = None;
        self.now.grid.blocks_mut().for_each(|block| block.trace = None);
    }

    /// Returns the accesses of the last step that a watch wanted.
    fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.now.grid.blocks().filter_map(|block| block.trace.as_ref()).flat_map(|trace| &trace.found)
    }
}

impl Current {
    /// Notes an action of the agent: which operation it executes, and which slot it sets.
    fn pass(&mut self, next: Next<'_>) {
        match next {
            Next::Step(step) => {
                if self.begins_execution(step.site()) {
                    self.begun += 1;
                }
                (self.site, self.left) = (step.site(), false);
                if let Some(slot) = sets(step).filter(|slot| !self.set.contains(slot)) {
                    self.set.push(slot);
                }
            }
            Next::Leave(site) => self.left |= site != self.site,
            Next::End => {}
        }
    }

    /// Reports whether a step of an operation begins an execution of it.
    fn begins_execution(&self, site: SiteId) -> bool {
        self.left || self.site != site
    }
}

/// Returns the slot that a step sets; `None` if it sets none.
fn sets(step: &Step) -> Option<u32> {
    match step {
        Step::SetSlot { slot, .. } => Some(*slot),
        Step::SetNumber(number) => Some(number.slot),
        Step::LoadInteger(load) => Some(load.slot),
        _ => None,
    }
}

/// Returns the bytes that a copy of a grid takes, about.
fn footprint(grid: &Grid<'_>) -> usize {
    grid.blocks().map(Block::footprint).sum()
}

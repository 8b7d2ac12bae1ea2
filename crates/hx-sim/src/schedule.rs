//! Runs the blocks of a launch whose atomic accesses let them see what others did.
//!
//! Each run, a block or the blocks of a cluster, is an agent of the grid. One run makes steps at a time, and it holds the
//! memory that all share ([`Common`]). Another may take over before each atomic access to global memory. No other run sees the
//! steps between two such accesses, unless the blocks race, so only the order of these accesses matters. The seed selects one:
//!
//! - with 0 the first run of the grid goes on as long as it can, and the next begins when it ends or waits;
//! - with 1 the runs begin in the reverse order, [`TOGETHER`] at a time, and take turns at each atomic access;
//! - any other seed draws the order in which they begin, and who takes over.
//!
//! A run that has begun stays on the device until it ends, as on a GPU, and the device holds [`Config::room`] blocks at once. So a
//! wait for a block that cannot begin never ends. With some seeds other launches hold most of the device, unless the kernel counts
//! multiprocessors ([`few`]).

use std::cell::Cell;

use hx_thread::LogPlan;

use crate::block::Block;
use crate::block::agent::Next;
use crate::cluster::Cluster;
use crate::code::{Code, SiteId};
use crate::config::Config;
use crate::deadlock::deadlock;
use crate::error::{Blocked, LeftOut, SimError};
use crate::global::Tensor;
use crate::grid::{Permutation, members};
use crate::order::Order;
use crate::overlay::Overlay;
use crate::ran::{Ran, cluster, outcome_of};
use crate::turn::Tick;
use crate::world::{Common, World};

/// Further runs begin, although others could go on, while fewer than this number are on the device.
const TOGETHER: usize = 8;

/// Returns the number of runs that other launches leave room for in the order of a seed; `None` if the device is free. A kernel that
/// counts multiprocessors has a device of its own.
fn few(code: &Code, seed: u64) -> Option<u64> {
    let is_busy = code.communicates && !code.counts_multiprocessors && seed > 1 && seed % 3 == 2;
    is_busy.then_some(1 + seed / 3 % 4)
}

/// A launch before its first step.
#[derive(Clone, Copy)]
pub(crate) struct Launch<'a> {
    pub(crate) code: &'a Code,
    pub(crate) tensors: &'a [Option<Tensor>],
    pub(crate) config: &'a Config<'a>,
    pub(crate) plan: &'a LogPlan,
}

/// A run that has begun, or that a playback looks at.
#[derive(Clone, Debug)]
struct Run<'a> {
    number: u64,
    cluster: Cluster<'a>,
    /// Whether the run has begun and has not ended. A playback has its run in the list before and after, too.
    is_live: bool,
    /// The value of [`Grid::turns`] when the run was chosen last; 0 if it never was.
    turn: u64,
    /// The value of `Grid::changes` when no agent of this run could step. The run is not tested again until memory changes.
    stuck: Cell<Option<u64>>,
}

/// The reason to choose another run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    /// The running run gives its turn to others.
    Turn,
    /// The running run waits for others.
    Stuck,
    /// The running run has ended, or none runs yet.
    End,
}

/// The runs of a grid.
pub(crate) struct Grid<'a> {
    launch: Launch<'a>,
    runs: Vec<Run<'a>>,
    /// The position of the run that makes steps.
    running: usize,
    /// The state of global memory that all runs share, while no run makes steps; `None` while one does and has it, and if
    /// blocks do not communicate.
    held: Option<Common>,
    /// The number of runs that have begun, in the order of `permutation`.
    begun: u64,
    all: u64,
    permutation: Permutation,
    order: Order,
    turns: u64,
    /// The run that a playback looks at, whose state stays after its end; `None` without a playback.
    kept: Option<u64>,
    ended: Vec<Ran>,
}

impl Clone for Grid<'_> {
    /// Copies the state of the runs, without the results of those that have ended.
    fn clone(&self) -> Self {
        Grid {
            runs: self.runs.clone(),
            held: self.held.clone(),
            order: self.order.clone(),
            ended: Vec::new(),
            ..*self
        }
    }
}

impl<'a> Grid<'a> {
    /// Makes a grid before its first step. The state of the run `kept` is there from the start, and stays.
    pub(crate) fn new(launch: Launch<'a>, kept: Option<u64>) -> Grid<'a> {
        let Launch { code, tensors, config, .. } = launch;
        let all = code.grid.iter().product::<u64>() / u64::from(code.cluster.iter().product::<u32>()).max(1);
        let mut grid = Grid {
            launch,
            runs: Vec::new(),
            running: 0,
            held: None,
            begun: 0,
            all,
            permutation: Permutation::new(config.seed, all),
            order: Order::new(config.seed, [u32::MAX; 3]),
            turns: 0,
            kept,
            ended: Vec::new(),
        };
        if code.communicates {
            let overlays = tensors.iter().map(|_| Overlay::default()).collect();
            grid.held = Some(Common { overlays, world: Some(Box::new(World::new(config.seed))) });
        } else if let Some(kept) = kept {
            // Without communication the other runs cannot affect the one whose state stays, so only that run begins.
            (grid.begun, grid.all, grid.permutation) = (0, 1, Permutation::new(0, 1));
            grid.runs.push(Run { is_live: true, ..grid.made(kept) });
            grid.begun = 1;
            return grid;
        }
        if let Some(kept) = kept {
            grid.runs.push(grid.made(kept));
        }
        grid
    }

    fn made(&self, number: u64) -> Run<'a> {
        let Launch { code, tensors, config, plan } = self.launch;
        let members = members(code.cluster, code.grid, number);
        let cluster = cluster(code, (number, &members), tensors, config, plan);
        Run { number, cluster, is_live: false, turn: 0, stuck: Cell::new(None) }
    }

    /// Lets the first run begin, if none has. Returns false if the grid has none.
    pub(crate) fn ensure_begun(&mut self) -> bool {
        self.runs.get(self.running).is_some_and(|run| run.is_live) || self.choose(Why::End)
    }

    /// Performs the next step, and chooses the run that makes the step after it. Returns false once all runs have ended.
    ///
    /// # Errors
    /// On the first fault, and if runs are left that wait for ever.
    pub(crate) fn tick(&mut self) -> Result<bool, SimError> {
        if !self.ensure_begun() {
            return Ok(false);
        }
        if self.is_between() {
            self.interleave();
        }
        let run = &mut self.runs[self.running];
        let naps = run.cluster.running_block().naps;
        match run.cluster.tick()? {
            Tick::Went => {
                if run.cluster.running_block().naps > naps {
                    self.choose(Why::Turn);
                }
                Ok(true)
            }
            Tick::Stuck if self.choose(Why::Stuck) => Ok(true),
            Tick::Stuck => Err(self.deadlock()),
            Tick::Ended => {
                self.end();
                if self.choose(Why::End) {
                    return Ok(true);
                }
                if self.runs.iter().any(|run| run.is_live) { Err(self.deadlock()) } else { Ok(false) }
            }
        }
    }

    /// Runs all blocks to their end. Returns the results of the runs in the order in which they ended, those that a fault
    /// stopped last, and the state that all runs share.
    pub(crate) fn run(mut self) -> (Vec<Ran>, Common, Result<(), SimError>) {
        let outcome = loop {
            match self.tick() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let common = self.take();
        let left = self.runs.into_iter().filter(|run| run.is_live).map(|run| outcome_of(run.cluster));
        self.ended.extend(left);
        (self.ended, common, outcome)
    }

    /// Reports whether the next step is an atomic access to global memory; always false if blocks do not communicate.
    fn is_between(&self) -> bool {
        let Some(run) = self.runs.get(self.running).filter(|_| self.launch.code.communicates) else {
            return false;
        };
        let agent = &run.cluster.running_block().agent;
        agent.waiting.is_none() && matches!(agent.next(), Next::Step(step) if step.is_between())
    }

    /// Lets another run go on before an atomic access, if the seed says so.
    fn interleave(&mut self) {
        match self.launch.config.seed {
            0 => {}
            1 => _ = self.choose(Why::Turn),
            _ if self.order.draw(2) == 0 => {}
            _ => _ = self.choose(Why::End),
        }
    }

    /// Returns the overlays that all runs share.
    fn common(&self) -> &[Overlay] {
        match &self.held {
            Some(common) => &common.overlays,
            None => &self.runs[self.running].cluster.running_block().overlays,
        }
    }

    /// Reports whether a run can make a step now; with `awake`, by an agent that did not give its turn to others.
    fn is_able(&self, at: usize, awake: bool) -> bool {
        let run = &self.runs[at];
        let changes = self.changes();
        if !run.is_live || run.stuck.get() == Some(changes) {
            return false;
        }
        let is_able = run.cluster.can_go_on(self.common(), false);
        if !is_able {
            run.stuck.set(Some(changes));
        }
        is_able && (!awake || run.cluster.can_go_on(self.common(), true))
    }

    fn changes(&self) -> u64 {
        let world = match &self.held {
            Some(common) => common.world.as_ref(),
            None => self.runs[self.running].cluster.running_block().world.as_ref(),
        };
        world.map_or(0, |world| world.changes)
    }

    /// Chooses the run that makes steps, perhaps one that begins. Returns false if none can.
    fn choose(&mut self, why: Why) -> bool {
        let seed = self.launch.config.seed;
        if seed == 0 {
            return self.choose_first(why);
        }
        let mut able: Vec<usize> = (0..self.runs.len()).filter(|at| self.is_able(*at, true)).collect();
        if why == Why::Turn && able.iter().any(|at| *at != self.running) {
            able.retain(|at| *at != self.running);
        }
        let live = self.runs.iter().filter(|run| run.is_live).count();
        let begins = match seed {
            1 => able.is_empty() || live < TOGETHER,
            _ => able.is_empty() || live < TOGETHER && self.order.draw(able.len() as u64 + 1) == 0,
        };
        if begins && self.begin() {
            return true;
        }
        let chosen = match seed {
            _ if able.is_empty() => self.rested(false),
            1 => able.into_iter().min_by_key(|at| self.runs[*at].turn),
            _ => Some(able[self.order.draw(able.len() as u64) as usize]),
        };
        if let Some(chosen) = chosen {
            self.enter(chosen);
        }
        chosen.is_some()
    }

    /// Chooses the first run of the grid that can go on. If the running one waits for others or gives them its turn, a new run
    /// begins instead: the others may wait for that one, and need not poll again after each run that begins.
    fn choose_first(&mut self, why: Why) -> bool {
        if why != Why::End && self.begin() {
            return true;
        }
        let chosen = match why {
            Why::Turn => self.rested(true),
            Why::Stuck | Why::End => (0..self.runs.len()).find(|at| self.is_able(*at, true)),
        };
        let chosen = match chosen {
            None if self.begin() => return true,
            None => self.rested(false),
            chosen => chosen,
        };
        if let Some(chosen) = chosen {
            self.enter(chosen);
        }
        chosen.is_some()
    }

    /// Returns the run that can go on and whose last turn is the longest ago; `None` if none can.
    fn rested(&self, awake: bool) -> Option<usize> {
        let able = (0..self.runs.len()).filter(|at| self.is_able(*at, awake));
        able.min_by_key(|at| self.runs[*at].turn)
    }

    /// Lets the next run begin, if the device has room for it.
    fn begin(&mut self) -> bool {
        let Launch { code, config, .. } = self.launch;
        let each = u64::from(code.cluster.iter().product::<u32>()).max(1);
        let live = self.runs.iter().filter(|run| run.is_live).count() as u64;
        let has_room = config.room.is_none_or(|room| live == 0 || (live + 1) * each <= room.blocks())
            && few(code, config.seed).is_none_or(|few| live < few);
        if self.begun == self.all || !has_room {
            return false;
        }
        let number = self.permutation.at(self.begun);
        self.begun += 1;
        let at = self.runs.iter().position(|run| run.number == number).unwrap_or_else(|| {
            self.runs.push(self.made(number));
            self.runs.len() - 1
        });
        self.runs[at].is_live = true;
        self.enter(at);
        true
    }

    /// Gives the turn to the run at a position.
    fn enter(&mut self, at: usize) {
        self.turns += 1;
        self.runs[at].turn = self.turns;
        if self.launch.code.communicates && (self.held.is_some() || at != self.running) {
            let common = self.take();
            self.runs[at].cluster.running_block_mut().take_over(common);
        }
        self.running = at;
    }

    /// Takes the state that all runs share from the run that holds it.
    fn take(&mut self) -> Common {
        if let Some(held) = self.held.take() {
            return held;
        }
        match self.runs.get_mut(self.running) {
            Some(run) => run.cluster.running_block_mut().hand_over(),
            None => Common { overlays: Vec::new(), world: None },
        }
    }

    /// Ends the run that makes steps.
    fn end(&mut self) {
        if self.launch.code.communicates {
            self.held = Some(self.take());
        }
        if self.kept == Some(self.runs[self.running].number) {
            self.runs[self.running].is_live = false;
            return;
        }
        let run = self.runs.remove(self.running);
        self.ended.push(outcome_of(run.cluster));
        // The state of the run that stays is the one to look at in the end.
        self.running = self.runs.iter().position(|run| Some(run.number) == self.kept).unwrap_or(0);
    }

    /// Returns the error of runs that wait for ever.
    fn deadlock(&mut self) -> SimError {
        let communicates = self.launch.code.communicates;
        // The report names the elements for which loops wait, and reads them from the state that all runs share.
        let common = self.take();
        let world = common.world.clone();
        let mut all: Vec<(SiteId, Blocked)> = Vec::new();
        self.runs.sort_by_key(|run| run.number);
        for run in self.runs.iter_mut().filter(|run| run.is_live) {
            for block in &mut run.cluster.blocks {
                block.world.clone_from(&world);
                all.extend(block.blocked(communicates.then_some(block.index)));
            }
        }
        let each = u64::from(self.launch.code.cluster.iter().product::<u32>()).max(1);
        let running = self.runs.iter().filter(|run| run.is_live).count() as u64 * each;
        let Launch { code, config, .. } = self.launch;
        let blocks = (self.all - self.begun) * each;
        let left_out = match few(code, config.seed) {
            _ if blocks == 0 => None,
            Some(_) => Some(LeftOut { blocks, running, room: None }),
            None => config.room.map(|room| LeftOut { blocks, running, room: Some(room) }),
        };
        let first =
            self.runs.iter().find(|run| run.is_live && !run.cluster.blocks.iter().all(Block::has_ended));
        let block = first.map(|run| run.cluster.blocks.iter().find(|block| !block.has_ended()));
        let site = all.first().map_or(0, |(site, _)| *site);
        let fault = deadlock(all, left_out);
        let error = match block.flatten() {
            Some(block) => block.error_of(site, None, fault),
            None => fault.into(),
        };
        self.held = Some(common);
        error
    }

    /// Returns a block by its number in the grid, or by its rank if blocks do not communicate; `None` if its run is not there.
    pub(crate) fn block(&self, rank: usize) -> Option<&Block<'a>> {
        let has = |block: &&Block<'_>| match self.launch.code.communicates {
            true => block.number as usize == rank,
            false => block.rank == rank,
        };
        self.blocks().find(has)
    }

    /// Returns the blocks of all runs in the list.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block<'a>> {
        self.runs.iter().flat_map(|run| &run.cluster.blocks)
    }

    pub(crate) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block<'a>> {
        self.runs.iter_mut().flat_map(|run| &mut run.cluster.blocks)
    }

    /// Returns the block whose agent makes the next step; `None` if no run is there.
    pub(crate) fn running(&self) -> Option<&Block<'a>> {
        self.runs.get(self.running).map(|run| run.cluster.running_block())
    }

    /// Returns the rank of a block, as [`Grid::block`] takes it.
    pub(crate) fn rank(&self, block: &Block<'_>) -> usize {
        if self.launch.code.communicates { block.number as usize } else { block.rank }
    }

    /// Returns the clock of the run of a block; `None` if the run is not there.
    pub(crate) fn clock_of(&self, block: &Block<'_>) -> Option<&hx_thread::Clock> {
        let mut runs = self.runs.iter();
        let run = runs.find(|run| run.cluster.blocks.iter().any(|other| other.number == block.number))?;
        Some(&run.cluster.running_block().clock)
    }

    /// Returns the overlays that a block reads.
    pub(crate) fn overlays<'s>(&'s self, block: &'s Block<'a>) -> &'s [Overlay] {
        if self.launch.code.communicates { self.common() } else { &block.overlays }
    }
}

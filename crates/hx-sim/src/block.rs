//! The state of a running block: its agents, its shared memory, and its clock. [`crate::step`] has the steps that change it.

pub(crate) mod agent;
pub(crate) mod effect;
pub(crate) mod flight;
pub(crate) mod phases;
pub(crate) mod polling;
pub(crate) mod products;
pub(crate) mod registers;
pub(crate) mod scratch;
pub(crate) mod shared;
pub(crate) mod stores;
pub(crate) mod tickets;
pub(crate) mod waiting;

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use hx_thread::{Clock, Epoch};

use crate::between::Message;
use crate::code::{Code, SiteId};
use crate::config::Config;
use crate::error::{Fault, SimError};
use crate::formula::Failure;
use crate::global::Tensor;
use crate::log::BlockLog;
use crate::order::Order;
use crate::overlay::Overlay;
use crate::report::Counters;
use crate::trace::Trace;
use crate::witness::BlockWitness;
use crate::world::World;
use agent::Agent;
use effect::Sent;
use phases::Phases;
use shared::SharedMemory;
use tickets::Tickets;
use waiting::NamedBarrier;

/// Number of statements between two polls of the cancellation flag.
const POLL: u32 = 64;

#[derive(Clone, Debug)]
pub(crate) struct Block<'a> {
    pub(crate) code: &'a Code,
    /// Indexed by parameter; `None` for a scalar.
    pub(crate) tensors: &'a [Option<Tensor>],
    pub(crate) config: &'a Config<'a>,
    pub(crate) index: [u32; 3],
    /// The number of the block in the grid.
    pub(crate) number: u32,
    /// The number of the run: of the block, or of the cluster whose blocks run together.
    pub(crate) run: u32,
    /// The number of the block among those of its run.
    pub(crate) rank: usize,
    pub(crate) shared: SharedMemory,
    /// Blocks that run together have one clock, which the running block holds.
    pub(crate) clock: Clock,
    /// The effects of the last step on other blocks.
    pub(crate) sent: VecDeque<Sent>,
    /// The agent that runs.
    pub(crate) agent: Agent<'a>,
    /// The other agents.
    pub(crate) parked: Vec<Agent<'a>>,
    pub(crate) order: Order,
    /// The named barriers by their number.
    pub(crate) named: Vec<NamedBarrier>,
    pub(crate) phases: Phases,
    pub(crate) tickets: Tickets,
    /// Indexed by parameter. Only tensors that the kernel may write use theirs.
    pub(crate) overlays: Vec<Overlay>,
    /// Indexed by site.
    pub(crate) counters: Vec<Counters>,
    pub(crate) barriers: u64,
    pub(crate) log: BlockLog,
    /// The record of accesses, if the run watches a tensor.
    pub(crate) witness: Option<Box<BlockWitness>>,
    /// The accesses of the last step to a place, if a playback looks for them.
    pub(crate) trace: Option<Box<Trace>>,
    /// The state that blocks share if they communicate. The block that runs has it, with the overlays.
    pub(crate) world: Option<Box<World>>,
    /// The messages that releases left at elements of shared memory, by their first byte.
    pub(crate) flags: BTreeMap<usize, Rc<Message>>,
    /// The number of times that an agent has changed memory, or something else that others can see.
    pub(crate) changes: u64,
    /// The number of times that an agent has given its turn to others.
    pub(crate) naps: u64,
    steps: u32,
}

/// The numbers of a block: in the grid, of its run, and among the blocks of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) block: u32,
    pub(crate) run: u32,
    pub(crate) rank: usize,
}

impl<'a> Block<'a> {
    pub(crate) fn new(
        code: &'a Code,
        tensors: &'a [Option<Tensor>],
        config: &'a Config<'a>,
        (Numbers { block: number, run, rank }, index): (Numbers, [u32; 3]),
        log: BlockLog,
        witness: Option<Box<BlockWitness>>,
    ) -> Block<'a> {
        let (blocks, stride) = (code.cluster.iter().product(), code.stride() as u32);
        let lanes = code.target.limits.lanes;
        let clock = match blocks {
            1 => Clock::new(code.threads as u32, lanes),
            _ => Clock::of_cluster(code.threads as u32, [if rank == 0 { blocks } else { 0 }, stride], lanes),
        };
        Block {
            code,
            tensors,
            config,
            index,
            number,
            run,
            rank,
            shared: SharedMemory::new(code, config.check_races),
            clock: clock
                .with_parties(&code.parties)
                .with_stages(code.barriers.iter().map(|barrier| barrier.stages as usize).sum()),
            sent: VecDeque::new(),
            agent: Agent::of_block(code, index, rank * stride as usize),
            parked: Vec::new(),
            order: Order::new(config.seed, index),
            named: vec![NamedBarrier::default(); code.target.limits.named_barriers as usize],
            phases: Phases::new(code, config.seed, (rank, index)),
            tickets: Tickets::new(code, config.seed, index),
            // Blocks that communicate share one set of overlays, which [`Block::take_over`] gives to the running block.
            overlays: if code.communicates {
                Vec::new()
            } else {
                tensors.iter().map(|_| Overlay::default()).collect()
            },
            counters: vec![Counters::default(); code.sites.len()],
            barriers: 0,
            log,
            witness,
            trace: None,
            world: None,
            flags: BTreeMap::new(),
            changes: 0,
            naps: 0,
            steps: 0,
        }
    }

    /// Returns the approximate bytes of a copy of the block.
    pub(crate) fn footprint(&self) -> usize {
        let agents = self.parked.iter().chain([&self.agent]);
        let files = agents.flat_map(|agent| &agent.registers);
        let registers: usize = files.map(|file| file.bits.len() * size_of::<u64>()).sum();
        let pages: usize = self.overlays.iter().map(|overlay| overlay.footprint()).sum();
        let flight = |agent: &Agent<'_>| agent.flight.footprint() + agent.stores.footprint();
        let flights: usize = self.parked.iter().chain([&self.agent]).map(flight).sum();
        let counters = self.counters.len() * size_of::<Counters>();
        size_of::<Self>()
            + registers
            + self.shared.footprint()
            + pages
            + flights
            + self.log.footprint()
            + counters
    }

    /// Counts a step. Every [`POLL`] steps it polls [`Config::cancel`].
    ///
    /// # Errors
    /// If the launch was cancelled.
    pub(crate) fn poll(&mut self) -> Result<(), SimError> {
        self.steps += 1;
        if self.steps >= POLL {
            self.steps = 0;
            if (self.config.cancel)() {
                return Err(Fault::Cancelled.into());
            }
        }
        Ok(())
    }

    /// Returns the epoch of an access now by a thread of the running agent.
    #[inline]
    pub(crate) fn now(&self, thread: usize, lanes: u16) -> Epoch {
        self.clock.access((self.agent.first + thread) as u32, lanes)
    }

    /// Returns the error of a fault in a statement of `site`. `thread`, of the running agent, is `None` if the fault concerns the whole
    /// block.
    #[cold]
    pub(crate) fn error(&self, site: SiteId, thread: Option<usize>, fault: Fault) -> SimError {
        let thread = thread.map(|t| (self.agent.first + t) as u32);
        self.error_of(site, thread, fault)
    }

    /// Returns the error of a fault in a thread. `thread` is its number on the clock, as in an epoch.
    #[cold]
    pub(crate) fn error_of(&self, site: SiteId, thread: Option<u32>, fault: Fault) -> SimError {
        let thread = thread.map(|thread| self.code.own(thread));
        let place = self.code.sites[site as usize].place(Some(self.index), thread);
        SimError { fault, place: Some(Box::new(place)) }
    }

    #[cold]
    pub(crate) fn failed(&self, site: SiteId, failure: Failure) -> SimError {
        self.error(site, failure.thread, Fault::Eval(failure.error))
    }

    /// Returns the number, within the block, of the first thread of the running agent.
    pub(crate) fn first_thread(&self) -> u32 {
        self.code.own(self.agent.first as u32)
    }

    pub(crate) fn warps(&self) -> usize {
        self.agent.warps()
    }
}

//! The blocks of a cluster that reach each other's shared memory: they run together, one agent at a time.
//!
//! A block changes only itself. A step sends its effects on other blocks, and they take effect right after the step: arrivals
//! at barriers of other blocks, and boxes that go to them. The bytes of a box become visible in each block at a time of its
//! own.
//! The blocks have one clock, so that a block that fills the memory of another is ordered after the accesses of that one's threads
//! exactly if it has learned of them.
//!
//! All threads of a cluster meet before their first step and after their last one, so no block is gone while another reaches it.

use crate::block::Block;
use crate::block::effect::Sent;
use crate::error::SimError;
use crate::order::Order;
use crate::overlay::Overlay;
use crate::step::Turn;
use crate::turn::Tick;

/// The blocks of a cluster, in the order of their ranks. A block alone is a cluster of one.
#[derive(Clone, Debug)]
pub(crate) struct Cluster<'a> {
    pub(crate) blocks: Vec<Block<'a>>,
    /// The block that has the clock.
    pub(crate) running: usize,
    order: Order,
}

impl<'a> Cluster<'a> {
    /// Makes a cluster before its first step. The first block comes with the clock of all.
    pub(crate) fn new(blocks: Vec<Block<'a>>) -> Cluster<'a> {
        let (seed, index) = blocks.first().map_or((0, [0; 3]), |first| (first.config.seed, first.index));
        Cluster { blocks, running: 0, order: Order::new(seed, index) }
    }

    /// Runs all agents of all blocks to their end.
    ///
    /// # Errors
    /// On the first fault, and if agents are left that wait for ever.
    pub(crate) fn run(&mut self) -> Result<(), SimError> {
        match self.blocks.as_mut_slice() {
            [] => Ok(()),
            [block] => block.run(),
            _ => {
                while self.tick()? == Tick::Went {}
                self.expect_ended()
            }
        }
    }

    /// Performs the next step of the running agent, and chooses the agent that runs next.
    ///
    /// # Errors
    /// On a fault.
    pub(crate) fn tick(&mut self) -> Result<Tick, SimError> {
        if let [block] = self.blocks.as_mut_slice() {
            return block.tick();
        }
        match self.advance()? {
            Turn::Stepped => {
                let agent = &self.blocks[self.running].agent;
                let is_napping = agent.nap.is_some();
                if self.order.ends_turn(agent.is_logging()) || is_napping {
                    self.next_agent();
                }
            }
            Turn::Blocked | Turn::Ended => {
                while !self.next_agent() {
                    if !self.complete_next()? {
                        if !self.blocks.iter().all(Block::has_ended) {
                            return Ok(Tick::Stuck);
                        }
                        self.end()?;
                        return Ok(Tick::Ended);
                    }
                }
            }
        }
        Ok(Tick::Went)
    }

    /// Fails with [`Fault::Deadlock`](crate::error::Fault::Deadlock) if an agent has not ended. To be called when no agent can go on.
    pub(crate) fn expect_ended(&self) -> Result<(), SimError> {
        self.blocks.iter().try_for_each(Block::expect_ended)
    }

    /// Returns the overlays that a block reads: its own, or those of the running block if all share them.
    fn overlays<'s>(&'s self, block: &'s Block<'a>) -> &'s [Overlay] {
        let shares = self.blocks[self.running].world.is_some();
        if shares { &self.blocks[self.running].overlays } else { &block.overlays }
    }

    /// Reports whether a step can be made now: by an agent, or by a copy or a draw in flight. With `awake`, agents that gave
    /// their turn to others do not count. `overlays` are those that all blocks share.
    pub(crate) fn can_go_on(&self, overlays: &[Overlay], awake: bool) -> bool {
        self.blocks.iter().any(|block| {
            block.can_complete()
                || if awake { block.is_awake(overlays) } else { !block.ready(overlays).is_empty() }
        })
    }

    /// Returns the block that makes the next step.
    pub(crate) fn running_block(&self) -> &Block<'a> {
        &self.blocks[self.running]
    }

    pub(crate) fn running_block_mut(&mut self) -> &mut Block<'a> {
        &mut self.blocks[self.running]
    }

    /// Gives the clock, and the state that blocks share, to a block, which then runs.
    fn enter(&mut self, block: usize) {
        if block != self.running {
            let [from, to] = if block < self.running {
                let (low, high) = self.blocks.split_at_mut(self.running);
                [&mut high[0], &mut low[block]]
            } else {
                let (low, high) = self.blocks.split_at_mut(block);
                [&mut low[self.running], &mut high[0]]
            };
            std::mem::swap(&mut from.clock, &mut to.clock);
            if from.world.is_some() {
                let common = from.hand_over();
                to.take_over(common);
            }
            self.running = block;
        }
    }

    /// Performs the next step of the running agent, and applies its effects on other blocks.
    ///
    /// # Errors
    /// On a fault of the step or of an effect.
    fn advance(&mut self) -> Result<Turn, SimError> {
        let turn = self.blocks[self.running].advance()?;
        let here = self.running;
        while let Some(Sent { to, effect }) = self.blocks[here].sent.pop_front() {
            self.enter(to);
            self.blocks[to].receive(&effect)?;
            self.blocks[to].complete_early()?;
            self.enter(here);
        }
        Ok(turn)
    }

    /// Chooses the agent that runs next. Returns false if none can.
    fn next_agent(&mut self) -> bool {
        self.order.begin();
        let ready = self.blocks.iter().enumerate().flat_map(|(block, run)| {
            let agents = run.ready(self.overlays(run)).into_iter();
            agents.map(move |(number, place)| (block, number, place))
        });
        let ready: Vec<(usize, usize, usize)> = ready.collect();
        if ready.is_empty() {
            return false;
        }
        let numbers: Vec<usize> = (0..ready.len()).collect();
        let (block, _, place) = ready[self.order.choose(&numbers)];
        self.enter(block);
        self.blocks[block].turn_to(place);
        true
    }

    /// Lets copies into some block arrive, or a draw of some block happen. Returns false if there is neither.
    ///
    /// # Errors
    /// On a fault of an arrival.
    fn complete_next(&mut self) -> Result<bool, SimError> {
        let waiting: Vec<usize> =
            (0..self.blocks.len()).filter(|block| self.blocks[*block].can_complete()).collect();
        if waiting.is_empty() {
            return Ok(false);
        }
        let block = waiting[self.order.draw(waiting.len() as u64) as usize];
        self.enter(block);
        self.blocks[block].complete_next()
    }

    fn end(&mut self) -> Result<(), SimError> {
        for block in 0..self.blocks.len() {
            self.enter(block);
            self.blocks[block].expect_waited()?;
            self.blocks[block].count_unwaited();
        }
        Ok(())
    }
}

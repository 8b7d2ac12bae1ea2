//! The state of a recorded run at its moment: agents, registers, memory, barriers.

use std::ops::Range;

use hx_index::Symbol;

use super::{AgentId, Playback};
use crate::block::Block;
use crate::block::agent::{Agent, Next};
use crate::block::phases::Stage;
use crate::block::shared::Arrival;
use crate::block::waiting::Until;
use crate::code::SiteId;

/// An agent at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentState {
    pub id: AgentId,
    /// The index of its block.
    pub block: [u32; 3],
    /// Its first thread in the block, and one past the last.
    pub threads: [u32; 2],
    /// The operation that it executes or executes next, a position in [`crate::Prepared::places`]; `None` after its end and
    /// outside of operations.
    pub site: Option<u32>,
    /// Whether the next step begins an execution of the operation.
    pub begins_operation: bool,
    /// The number of executions of operations that it has begun.
    pub begun: u64,
    /// The event that it waits for, as text after "waits for"; `None` if it waits for nothing.
    pub waits: Option<String>,
    pub ended: bool,
}

/// The values that the threads of an agent hold of an array.
#[derive(Clone, Copy, Debug)]
pub struct Registers<'p> {
    /// The first thread in the block, and one past the last.
    pub threads: [u32; 2],
    bits: &'p [u64],
    written: &'p [bool],
}

impl Registers<'_> {
    /// Returns a value of a thread; `None` if it was never written, or the thread is another agent's.
    pub fn value(&self, thread: u32, position: usize) -> Option<u64> {
        let [first, end] = self.threads;
        if !(first..end).contains(&thread) || !*self.written.get(position)? {
            return None;
        }
        let threads = (end - first) as usize;
        self.bits.get(position * threads + (thread - first) as usize).copied()
    }
}

impl<'p> Playback<'p> {
    /// Returns the agent that makes the next step.
    pub fn running(&self) -> AgentId {
        match self.now.grid.running() {
            Some(block) => AgentId { rank: self.now.grid.rank(block), number: block.agent.number },
            None => AgentId { rank: 0, number: 0 },
        }
    }

    fn block(&self, rank: usize) -> Option<&Block<'p>> {
        self.now.grid.block(rank)
    }

    pub(super) fn agent(&self, id: AgentId) -> Option<&Agent<'p>> {
        let block = self.block(id.rank)?;
        block.parked.iter().chain([&block.agent]).find(|agent| agent.number == id.number)
    }

    /// Returns all agents, by block and number.
    pub fn agents(&self) -> Vec<AgentState> {
        let ids = self.now.grid.blocks().flat_map(|block| {
            let rank = self.now.grid.rank(block);
            let numbers = block.parked.iter().chain([&block.agent]);
            numbers.map(move |agent| AgentId { rank, number: agent.number })
        });
        let mut ids: Vec<AgentId> = ids.collect();
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| self.state(id)).collect()
    }

    /// Returns the state of an agent; `None` if there is no such agent at this moment.
    pub fn state(&self, id: AgentId) -> Option<AgentState> {
        let (block, agent) = (self.block(id.rank)?, self.agent(id)?);
        let current = self.now.current.get(&id);
        let (last, begun) = current.map_or((0, 0), |current| (current.site, current.begun));
        let begins = |site: SiteId| current.is_none_or(|current| current.begins_execution(site));
        let waiting = agent.waiting.as_ref();
        let (site, begins) = match (waiting, agent.next()) {
            (Some(waiting), _) => (waiting.site, false),
            (None, Next::Step(step)) => (step.site(), begins(step.site())),
            (None, Next::Leave(_)) => (last, false),
            (None, Next::End) => (0, false),
        };
        let first = block.code.own(agent.first as u32);
        let waits = waiting.map(|waiting| match &waiting.until {
            Until::Others => "the roles to end".to_owned(),
            until => block.event(until),
        });
        Some(AgentState {
            id,
            block: block.index,
            threads: [first, first + agent.threads as u32],
            site: (site > 0).then_some(site),
            begins_operation: begins && site > 0,
            begun,
            waits,
            ended: agent.has_ended(),
        })
    }

    /// Returns the values that an agent holds of an array, a position in [`hx_thread::ThreadProgram::registers`]; `None` if it uses no
    /// such array.
    pub fn registers(&self, id: AgentId, array: usize) -> Option<Registers<'_>> {
        let (block, agent) = (self.block(id.rank)?, self.agent(id)?);
        let file = agent.registers.get(array).filter(|file| !file.written.is_empty())?;
        let first = block.code.own(agent.first as u32);
        let threads = [first, first + agent.threads as u32];
        Some(Registers { threads, bits: &file.bits, written: &file.written })
    }

    /// Returns the bytes of a block's shared memory; none if there is no such block at this moment.
    pub fn shared(&self, rank: usize) -> &[u8] {
        self.block(rank).map_or(&[], |block| &block.shared.bytes)
    }

    /// Returns the state of a byte of a block's shared memory.
    pub fn arrival(&self, rank: usize, byte: usize) -> Arrival {
        // The blocks of a cluster have one clock, which one of them holds.
        let block = self.block(rank).and_then(|block| Some((block, self.now.grid.clock_of(block)?)));
        block.map_or(Arrival::Unwritten, |(block, clock)| block.shared.arrival(byte, clock))
    }

    /// Returns some bytes of the tensor of a parameter, as a block sees them now; `None` outside of the tensor.
    pub fn global(&self, rank: usize, param: usize, bytes: Range<usize>) -> Option<Vec<u8>> {
        let (block, tensor) = (self.block(rank)?, self.prepared.tensors.get(param)?.as_ref()?);
        let mut out = tensor.bytes.get(bytes.clone())?.to_vec();
        self.now.grid.overlays(block).get(param)?.look(tensor, bytes.start, &mut out);
        Some(out)
    }

    /// Returns the loop counters and local integers of an agent that have a value, in the order of the program.
    pub fn integers(&self, id: AgentId) -> Vec<(Symbol, i64)> {
        let Some(agent) = self.agent(id) else { return Vec::new() };
        let counting: Vec<u32> = agent.counting().collect();
        let set = self.now.current.get(&id).map_or(&[][..], |current| &current.set);
        let names = &self.prepared.code.names;
        let live = names.iter().filter(|(slot, _)| counting.contains(slot) || set.contains(slot));
        live.map(|(slot, name)| (name.clone(), agent.env.slots[*slot as usize])).collect()
    }

    /// Returns the state of each barrier in the memory of a block, by barrier and stage; none if there is no such block at this
    /// moment.
    pub fn stages(&self, rank: usize) -> Vec<Stage> {
        self.block(rank).map(|block| block.phases.stages()).unwrap_or_default()
    }

    /// Returns the named barriers of the source with the number of threads that have come and that have to come; the second is 0
    /// before any has come. None if there is no such block at this moment.
    pub fn named(&self, rank: usize) -> Vec<(String, [usize; 2])> {
        let state = |block: &Block<'_>| {
            let named = block.code.named.iter();
            let one = |(id, name): (&u32, &String)| {
                let barrier = &block.named[*id as usize];
                (name.clone(), [barrier.arrived, barrier.wanted])
            };
            named.map(one).collect()
        };
        self.block(rank).map(state).unwrap_or_default()
    }
}

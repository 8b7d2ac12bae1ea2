//! A state of all groups of a cluster, and the events that lead from it to others.

use std::collections::{BTreeMap, BTreeSet};

use hx_tile::{OpId, TensorId};

use super::super::script::{Span, Step, StepKind, Team};
use super::Wrong;
use super::memory::{Memory, Writer};
use super::table::{Ring, Slot, Table, has_passed, reached};

/// The reads of all orders: by agent, step and operand the writers that they found.
pub(super) type Reads = BTreeMap<(usize, usize, usize), Vec<Writer>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The next step of a group.
    Step(usize),
    /// The copies into a stage of a pipe of a block arrive.
    Arrive { block: usize, pipe: usize, slot: u32 },
}

/// Something in flight that uses or writes shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Flying {
    op: OpId,
    kind: Kind,
    pub(super) spans: Vec<Span>,
    pub(super) block: usize,
    /// The register tensors of a product.
    registers: Vec<TensorId>,
    c: Option<TensorId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    /// A product, which reads its operands.
    Product,
    /// A bulk copy from shared memory, which reads it.
    Store,
    /// A copy in a group, which writes; the number of the group.
    Copy(u32),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Agent {
    pub(super) at: usize,
    /// Whether the agent has come to the barrier at which it waits.
    pub(super) arrived: bool,
    pub(super) flying: Vec<Flying>,
    /// The number of closed groups of copies.
    groups: u32,
    /// The number of times that the group took its turn, by the position of the turns in the protocol.
    pub(super) taken: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) agents: Vec<Agent>,
    /// The barriers of the stages: by block, pipe and slot.
    pub(super) slots: Vec<Vec<Vec<Slot>>>,
    /// Copies into stages in flight: block, pipe, slot.
    pub(super) fills: Vec<(usize, usize, u32, Flying)>,
    /// By block, turns and group, how often the turn was passed to the group.
    pub(super) passed: Vec<Vec<Vec<u32>>>,
    /// By block and barrier of several groups, how many groups have come, in all rounds.
    pub(super) came: Vec<Vec<u32>>,
    /// The writers of shared tensors, by block.
    memory: Vec<Memory>,
    /// The scopes that wrote a flag: block, tensor, scope.
    pub(super) raised: BTreeSet<(usize, TensorId, Team)>,
}

impl State {
    pub(super) fn new(table: &Table<'_>) -> State {
        let turns = table.protocol.turns.len();
        let agent = || Agent { taken: vec![0; turns], ..Agent::default() };
        let slots = |ring: &Ring| vec![Slot::default(); ring.stages as usize];
        let groups = table.protocol.groups as usize;
        let mut first = vec![0; groups];
        for role in table.protocol.roles.iter().filter(|role| role.each) {
            first[role.first as usize] = 1;
        }
        State {
            agents: table.scripts.iter().map(|_| agent()).collect(),
            slots: table.pipes.iter().map(|rings| rings.iter().map(slots).collect()).collect(),
            fills: Vec::new(),
            passed: vec![vec![first; turns]; table.blocks],
            came: vec![vec![0; table.protocol.barriers.len()]; table.blocks],
            memory: vec![Memory::default(); table.blocks],
            raised: BTreeSet::new(),
        }
    }

    pub(super) fn is_ended(&self, table: &Table<'_>) -> bool {
        (0..self.agents.len()).all(|agent| table.step(agent, self.agents[agent].at).is_none())
    }

    /// Returns a copy that is still in flight into a block whose groups have all ended; `None` if there is none.
    pub(super) fn outlives(&self, table: &Table<'_>) -> Option<OpId> {
        let has_ended = |block: usize| {
            let mut agents = (0..self.agents.len()).filter(|agent| table.block(*agent) == block);
            agents.all(|agent| table.step(agent, self.agents[agent].at).is_none())
        };
        self.fills.iter().find(|(block, ..)| has_ended(*block)).map(|(.., flying)| flying.op)
    }

    /// Returns the operations at which groups wait.
    pub(super) fn waiting(&self, table: &Table<'_>) -> Vec<OpId> {
        let mut ops: Vec<OpId> = (0..self.agents.len())
            .filter_map(|agent| Some(table.step(agent, self.agents[agent].at)?.op))
            .collect();
        ops.dedup();
        ops
    }

    /// Makes all next steps that neither affect another agent nor depend on one: every order of them leads to the same state.
    ///
    /// # Errors
    /// The fault that a step shows.
    pub(super) fn run_alone(&mut self, table: &Table<'_>, reads: &mut Reads) -> Result<(), Wrong> {
        for agent in 0..self.agents.len() {
            while let Some(step) = table.step(agent, self.agents[agent].at) {
                let quiet = self.agents[agent].flying.is_empty();
                let is_alone = match &step.kind {
                    StepKind::Commit => true,
                    StepKind::Touch { .. } | StepKind::WaitProducts(_) | StepKind::WaitStores { .. } => quiet,
                    StepKind::WaitCopies(_) => quiet,
                    StepKind::Access { span, .. } => table.private.get(&span.tensor) == Some(&agent),
                    _ => false,
                };
                if !is_alone {
                    break;
                }
                self.apply(table, Event::Step(agent), reads)?;
            }
        }
        Ok(())
    }

    /// Returns the events that can come next.
    pub(super) fn events(&self, table: &Table<'_>) -> Vec<Event> {
        let mut events: Vec<Event> =
            (0..self.agents.len()).filter(|agent| self.may(table, *agent)).map(Event::Step).collect();
        for (block, pipes) in self.slots.iter().enumerate() {
            for (pipe, slots) in pipes.iter().enumerate() {
                for (slot, state) in (0u32..).zip(slots) {
                    if table.pipes[block][pipe].arrives(slot, state).is_some() {
                        events.push(Event::Arrive { block, pipe, slot });
                    }
                }
            }
        }
        events
    }

    /// Reports whether the next step of an agent does not have to wait.
    fn may(&self, table: &Table<'_>, agent: usize) -> bool {
        let Some(step) = table.step(agent, self.agents[agent].at) else { return false };
        let block = table.block(agent);
        match &step.kind {
            StepKind::Acquire { pipe, n } => {
                let ring = &table.pipes[block][*pipe as usize];
                let slot = self.slots[block][*pipe as usize][(n % ring.stages) as usize];
                match (n / ring.stages).checked_sub(1) {
                    Some(phase) => has_passed(slot.given / ring.releases.max(1), phase),
                    None => true,
                }
            }
            StepKind::Wait { pipe, n } => {
                let stages = table.pipes[block][*pipe as usize].stages;
                let slot = self.slots[block][*pipe as usize][(n % stages) as usize];
                has_passed(slot.filled, n / stages)
            }
            StepKind::Take(turns) => {
                let group = table.scripts[agent].group as usize;
                let complete = self.passed[block][*turns as usize][group];
                has_passed(complete, self.agents[agent].taken[*turns as usize])
            }
            StepKind::AwaitAll { barrier, n } => {
                self.came[block][*barrier as usize] >= table.comings(*barrier, n + 1)
            }
            StepKind::AwaitFlag { tensor } => State::is_raised(&self.raised, block, *tensor, step.team),
            StepKind::Sync | StepKind::Meet { .. } | StepKind::SyncCluster => !self.agents[agent].arrived,
            _ => true,
        }
    }

    /// Reports whether another scope than `team` has written a flag.
    pub(super) fn is_raised(
        raised: &BTreeSet<(usize, TensorId, Team)>,
        block: usize,
        tensor: TensorId,
        team: Team,
    ) -> bool {
        raised.iter().any(|(of, flag, by)| (*of, *flag) == (block, tensor) && *by != team)
    }

    /// Applies an event that can come next.
    ///
    /// # Errors
    /// The fault that the event shows.
    pub(super) fn apply(&mut self, table: &Table<'_>, event: Event, reads: &mut Reads) -> Result<(), Wrong> {
        match event {
            Event::Arrive { block, pipe, slot } => {
                let state = &mut self.slots[block][pipe][slot as usize];
                let ring = &table.pipes[block][pipe];
                let n = state.filled * ring.stages + slot;
                state.filled += 1;
                state.armed -= ring.acquirers.get(&n).copied().unwrap_or(1);
                state.issued = 0;
                self.fills.retain(|(b, p, s, _)| (*b, *p, *s) != (block, pipe, slot));
                Ok(())
            }
            Event::Step(agent) => {
                let at = self.agents[agent].at;
                let Some(step) = table.step(agent, at) else { return Ok(()) };
                if matches!(step.kind, StepKind::Sync | StepKind::Meet { .. } | StepKind::SyncCluster) {
                    self.meet(table, agent, step);
                    return Ok(());
                }
                self.agents[agent].at += 1;
                self.step(table, (agent, at), step, reads)
            }
        }
    }

    fn meet(&mut self, table: &Table<'_>, agent: usize, step: &Step) {
        self.agents[agent].arrived = true;
        let members = table.members(agent, step);
        let arrived = |other: &usize| {
            let state = &self.agents[*other];
            state.arrived && table.meets(step, *other, state.at)
        };
        if members.iter().all(arrived) {
            for member in members {
                self.agents[member].arrived = false;
                self.agents[member].at += 1;
            }
        }
    }

    fn step(
        &mut self,
        table: &Table<'_>,
        (agent, at): (usize, usize),
        step: &Step,
        reads: &mut Reads,
    ) -> Result<(), Wrong> {
        let (block, op) = (table.block(agent), step.op);
        match &step.kind {
            StepKind::Acquire { pipe, n } => {
                let stages = table.pipes[block][*pipe as usize].stages;
                self.slots[block][*pipe as usize][(n % stages) as usize].armed += 1;
            }
            StepKind::Release { pipe, n } => {
                let ring = &table.pipes[block][*pipe as usize];
                for other in &ring.told {
                    self.slots[*other][*pipe as usize][(n % ring.stages) as usize].given += 1;
                }
            }
            StepKind::Publish { pipe, n } => {
                let stages = table.pipes[block][*pipe as usize].stages;
                self.slots[block][*pipe as usize][(n % stages) as usize].issued += 1;
            }
            StepKind::Fill { pipe, n, into, multicast, .. } => {
                let axes = multicast.iter().map(|cast| cast.axis).collect();
                for other in reached(table.scripts, block, &axes) {
                    let slot = n % table.pipes[other][*pipe as usize].stages;
                    let state = &mut self.slots[other][*pipe as usize][slot as usize];
                    state.issued += 1;
                    if let Some(into) = into {
                        self.begins_to_write(other, op, into, None)?;
                        self.memory[other].write(into, Writer::Fill { op, pipe: *pipe, n: *n });
                        let kind = Kind::Copy(0);
                        let flying = flying(op, kind, vec![into.clone()], other);
                        self.fills.push((other, *pipe as usize, slot, flying));
                    }
                }
            }
            StepKind::Copy(into) => {
                self.begins_to_write(block, op, into, Some(agent))?;
                let writer = threads(step, table.scripts[agent].group, table.turns[agent][at]);
                self.memory[block].write(into, writer);
                let group = self.agents[agent].groups;
                self.agents[agent].flying.push(flying(op, Kind::Copy(group), vec![into.clone()], block));
            }
            StepKind::Commit => self.agents[agent].groups += 1,
            StepKind::WaitCopies(leave) => {
                let done = self.agents[agent].groups.saturating_sub(*leave);
                self.agents[agent].flying.retain(|f| !matches!(f.kind, Kind::Copy(group) if group < done));
            }
            StepKind::Access { span, write: true } => {
                self.begins_to_write(block, op, span, Some(agent))?;
                self.memory[block]
                    .write(span, threads(step, table.scripts[agent].group, table.turns[agent][at]));
            }
            StepKind::Access { span, write: false } => {
                self.reads(table, (agent, at, 0), step, span, reads)?;
            }
            StepKind::Atomic { span, writes, .. } => {
                // Atomic accesses of one flag do not race. The protocol machine checks which accesses a relaxed one leaves unordered.
                self.begins_to_write(block, op, span, Some(agent))?;
                if *writes {
                    self.raised.insert((block, span.tensor, step.team));
                }
            }
            StepKind::Touch { tensor, write } => {
                // Code generation waits before a register of a product in flight is used.
                let uses = |f: &Flying| f.c == Some(*tensor) || *write && f.registers.contains(tensor);
                if self.agents[agent].flying.iter().any(uses) {
                    self.complete(agent, Kind::Product, 0);
                }
            }
            StepKind::Multiply { c, registers, shared, asynchronous } => {
                for (operand, span) in shared.iter().enumerate() {
                    self.reads(table, (agent, at, operand), step, span, reads)?;
                }
                if *asynchronous {
                    let mut product = flying(op, Kind::Product, shared.clone(), block);
                    (product.c, product.registers) = (Some(*c), registers.clone());
                    self.agents[agent].flying.push(product);
                }
            }
            StepKind::WaitProducts(leave) => self.complete(agent, Kind::Product, *leave as usize),
            StepKind::Store { from, .. } => {
                if let Some(from) = from {
                    self.reads(table, (agent, at, 0), step, from, reads)?;
                }
                let spans = from.iter().cloned().collect();
                self.agents[agent].flying.push(flying(op, Kind::Store, spans, block));
            }
            StepKind::Far { .. } => {}
            StepKind::WaitStores { leave, .. } => self.complete(agent, Kind::Store, *leave as usize),
            StepKind::Take(turns) => self.agents[agent].taken[*turns as usize] += 1,
            StepKind::Pass(turns) => {
                self.passed[block][*turns as usize][table.next_group(agent)] += 1;
            }
            StepKind::Come { barrier, .. } => self.came[block][*barrier as usize] += 1,
            StepKind::Wait { .. }
            | StepKind::AwaitAll { .. }
            | StepKind::AwaitFlag { .. }
            | StepKind::Sync
            | StepKind::Meet { .. }
            | StepKind::SyncCluster => {}
        }
        Ok(())
    }

    /// Completes all but the newest `leave` operations of a kind that an agent has in flight.
    fn complete(&mut self, agent: usize, kind: Kind, leave: usize) {
        let flying = &mut self.agents[agent].flying;
        let all = flying.iter().filter(|f| f.kind == kind).count();
        let mut done = all.saturating_sub(leave);
        flying.retain(|f| {
            let is_done = f.kind == kind && done > 0;
            done -= usize::from(is_done);
            !is_done
        });
    }

    /// Checks that nothing in flight uses a part of shared memory that an operation begins to write. `by` is the agent that
    /// writes; `None` for a copy into a stage.
    fn begins_to_write(&self, block: usize, op: OpId, span: &Span, by: Option<usize>) -> Result<(), Wrong> {
        let own = self.agents.iter().enumerate();
        let own = own.flat_map(|(agent, state)| state.flying.iter().map(move |flying| (Some(agent), flying)));
        let fills = self.fills.iter().map(|(.., flying)| (None, flying));
        for (agent, flying) in own.chain(fills) {
            // Layouts decide whether copies in groups and writes of one agent meet, and shares of one multicast copy do not.
            let is_spread = matches!(flying.kind, Kind::Copy(_)) && agent.is_some() && agent == by;
            let is_share = agent.is_none() && by.is_none() && flying.op == op;
            let meets = flying.block == block && flying.spans.iter().any(|other| other.overlaps(span));
            if meets && !is_spread && !is_share {
                return Err(Wrong::Race { earlier: flying.op, later: op });
            }
        }
        Ok(())
    }

    /// Checks that a read finds the same writers in all orders, and nothing that still writes.
    fn reads(
        &self,
        table: &Table<'_>,
        read: (usize, usize, usize),
        step: &Step,
        span: &Span,
        reads: &mut Reads,
    ) -> Result<(), Wrong> {
        let (agent, ..) = read;
        let block = table.block(agent);
        let own = self.agents.iter().enumerate();
        let copies = own.flat_map(|(by, state)| state.flying.iter().map(move |flying| (Some(by), flying)));
        let copies = copies.filter(|(_, flying)| matches!(flying.kind, Kind::Copy(_)));
        let fills = self.fills.iter().map(|(.., flying)| (None, flying));
        for (by, flying) in copies.chain(fills) {
            let is_spread = by == Some(agent) && matches!(step.kind, StepKind::Access { .. });
            let meets = flying.block == block && flying.spans.iter().any(|other| other.overlaps(span));
            if meets && !is_spread {
                return Err(Wrong::Race { earlier: flying.op, later: step.op });
            }
        }
        let by_threads = match &step.kind {
            StepKind::Access { .. } => true,
            StepKind::Multiply { asynchronous, .. } => !asynchronous,
            _ => false,
        };
        let mut writers = self.memory[block].read(span);
        // Layouts decide which elements a thread reads of those that the threads of its scope wrote.
        if by_threads {
            writers.retain(|writer| !writer.is_of(step.team));
        }
        let known = reads.entry(read).or_insert_with(|| writers.clone());
        if *known != writers {
            return Err(Wrong::Unsteady { read: step.op });
        }
        Ok(())
    }
}

impl Flying {
    /// Reports whether it writes to shared memory.
    pub(super) fn writes(&self) -> bool {
        matches!(self.kind, Kind::Copy(_))
    }
}

fn flying(op: OpId, kind: Kind, spans: Vec<Span>, block: usize) -> Flying {
    Flying { op, kind, spans, block, registers: Vec::new(), c: None }
}

pub(super) fn threads(step: &Step, group: u32, turn: u32) -> Writer {
    let done = 1 << (group - step.team.first).min(31);
    Writer::Threads { op: step.op, team: step.team, turn, done }
}

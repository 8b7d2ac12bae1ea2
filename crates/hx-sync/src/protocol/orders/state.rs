//! A state of all groups of a cluster, and the events that lead from it to others.

use std::collections::{BTreeMap, BTreeSet};

use hx_tile::{OpId, TensorId};

use super::super::script::{Script, Span, Step, StepKind, Team};
use super::Protocol;
use super::Wrong;
use super::memory::{Memory, Writer};

/// The reads of all orders: by agent, step and operand the writers that they found.
pub(super) type Reads = BTreeMap<(usize, usize, usize), Vec<Writer>>;

/// The parts of a launch that do not change.
pub(super) struct Table<'a> {
    protocol: &'a Protocol,
    scripts: &'a [Script],
    blocks: usize,
    /// By block and pipe.
    pipes: Vec<Vec<Ring>>,
    /// The tensors that a single agent accesses.
    private: BTreeMap<TensorId, usize>,
    /// By agent and step, how many steps of the same operation come before.
    turns: Vec<Vec<u32>>,
}

/// A ring of stages as its barriers know it.
struct Ring {
    stages: u32,
    /// The number of releases that end a phase of an empty barrier.
    releases: u32,
    /// The blocks that a release of a group of this block tells.
    told: Vec<usize>,
    /// By `n`, the number of copies that arrive at the stage.
    expected: BTreeMap<u32, u32>,
    /// By `n`, the number of groups that acquire the stage together.
    acquirers: BTreeMap<u32, u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The next step of a group.
    Step(usize),
    /// The copies into a stage of a pipe of a block arrive.
    Arrive { block: usize, pipe: usize, slot: u32 },
}

/// The barriers of one slot of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Slot {
    /// The phases of the full barrier that are complete.
    filled: u32,
    /// Acquires of the phase that is not complete, by each group.
    armed: u32,
    /// Copies in flight, and those that belong to the phase.
    flying: u32,
    issued: u32,
    /// Arrivals at the empty barrier, of all phases.
    given: u32,
}

/// Something in flight that uses or writes shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Flying {
    op: OpId,
    kind: Kind,
    spans: Vec<Span>,
    block: usize,
    /// The register tensors of a product.
    registers: Vec<TensorId>,
    c: Option<TensorId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    /// A product reads.
    Product,
    /// A bulk copy from shared memory reads.
    Store,
    /// A copy in a group writes; the number of the group.
    Copy(u32),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Agent {
    at: usize,
    /// Whether the agent has come to the barrier at which it waits.
    arrived: bool,
    flying: Vec<Flying>,
    /// The number of closed groups of copies.
    groups: u32,
    /// The turns that the group took, by turns.
    taken: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    agents: Vec<Agent>,
    /// By block, pipe, slot.
    slots: Vec<Vec<Vec<Slot>>>,
    /// Copies into stages in flight: block, pipe, slot.
    fills: Vec<(usize, usize, u32, Flying)>,
    /// By block, turns and group, how often the turn was passed to the group.
    passed: Vec<Vec<Vec<u32>>>,
    /// By block.
    memory: Vec<Memory>,
    /// The scopes that wrote a flag: block, tensor, scope.
    raised: BTreeSet<(usize, TensorId, Team)>,
}

impl<'a> Table<'a> {
    pub(super) fn new(protocol: &'a Protocol, scripts: &'a [Script]) -> Table<'a> {
        let blocks = scripts.iter().map(|script| script.block as usize + 1).max().unwrap_or(1);
        let steps = || scripts.iter().flat_map(|script| script.steps.iter().map(move |step| (script, step)));
        let mut axes: Vec<BTreeSet<u8>> = vec![BTreeSet::new(); protocol.pipes.len()];
        for (_, step) in steps() {
            if let StepKind::Fill { pipe, multicast: Some(cast), .. } = &step.kind {
                axes[*pipe as usize].insert(cast.axis);
            }
        }
        let ring = |block: usize, pipe: usize| {
            let told = reached(scripts, block, &axes[pipe]);
            let mut expected = BTreeMap::new();
            for (script, step) in steps() {
                if let StepKind::Fill { pipe: of, n, multicast, .. } = &step.kind
                    && *of as usize == pipe
                {
                    let along = multicast.iter().map(|cast| cast.axis).collect();
                    if reached(scripts, script.block as usize, &along).contains(&block) {
                        *expected.entry(*n).or_insert(0) += 1;
                    }
                }
            }
            let mut acquirers = BTreeMap::new();
            for (script, step) in steps() {
                if let StepKind::Acquire { pipe: of, n } = &step.kind
                    && (*of as usize, script.block as usize) == (pipe, block)
                {
                    acquirers.insert(*n, step.team.groups);
                }
            }
            let (stages, readers) = (protocol.pipes[pipe].stages.max(1), protocol.pipes[pipe].readers);
            Ring { stages, releases: readers * told.len() as u32, told, expected, acquirers }
        };
        let pipes = (0..blocks)
            .map(|block| (0..protocol.pipes.len()).map(|pipe| ring(block, pipe)).collect())
            .collect();
        let mut users: BTreeMap<TensorId, BTreeSet<usize>> = BTreeMap::new();
        for (agent, script) in scripts.iter().enumerate() {
            for step in &script.steps {
                for span in spans(&step.kind) {
                    // A copy into a stage runs by itself.
                    let by = if matches!(step.kind, StepKind::Fill { .. }) { usize::MAX } else { agent };
                    users.entry(span.tensor).or_default().insert(by);
                }
            }
        }
        let single = |(tensor, by): (TensorId, BTreeSet<usize>)| {
            let only = by.first().copied().filter(|agent| by.len() == 1 && *agent != usize::MAX);
            only.map(|agent| (tensor, agent))
        };
        let private = users.into_iter().filter_map(single).collect();
        let turns = |script: &Script| {
            let mut met: BTreeMap<OpId, u32> = BTreeMap::new();
            let turn = |step: &Step| {
                let turn = met.entry(step.op).or_insert(0);
                *turn += 1;
                *turn
            };
            script.steps.iter().map(turn).collect()
        };
        Table { protocol, scripts, blocks, pipes, private, turns: scripts.iter().map(turns).collect() }
    }

    fn step(&self, agent: usize, at: usize) -> Option<&Step> {
        self.scripts[agent].steps.get(at)
    }

    fn block(&self, agent: usize) -> usize {
        self.scripts[agent].block as usize
    }

    /// Returns the agents that come to the barrier of a scope.
    fn members(&self, agent: usize, step: &Step) -> Vec<usize> {
        let all = 0..self.scripts.len();
        match &step.kind {
            StepKind::SyncCluster => all.collect(),
            StepKind::Meet { axis } => {
                let blocks = reached(self.scripts, self.block(agent), &BTreeSet::from([*axis]));
                let within =
                    |other: &usize| blocks.contains(&self.block(*other)) && self.is_in(*other, step.team);
                all.filter(within).collect()
            }
            _ => all.filter(|o| self.block(*o) == self.block(agent) && self.is_in(*o, step.team)).collect(),
        }
    }

    fn is_in(&self, agent: usize, team: Team) -> bool {
        (team.first..team.first + team.groups).contains(&self.scripts[agent].group)
    }

    fn next_group(&self, agent: usize) -> usize {
        let group = self.scripts[agent].group;
        let is_mine = |role: &&super::super::Role| (role.first..role.first + role.groups).contains(&group);
        let role = self.protocol.roles.iter().find(is_mine);
        role.map_or(group, |role| role.first + (group + 1 - role.first) % role.groups) as usize
    }
}

/// Returns the blocks whose place differs from that of a block along one of these axes at most.
fn reached(scripts: &[Script], block: usize, axes: &BTreeSet<u8>) -> Vec<usize> {
    let places: BTreeMap<usize, [i64; 3]> =
        scripts.iter().map(|script| (script.block as usize, script.place)).collect();
    let here = places[&block];
    let shares = |place: &[i64; 3]| {
        let differ: Vec<u8> = (0..3u8).filter(|axis| place[*axis as usize] != here[*axis as usize]).collect();
        differ.is_empty() || differ.len() == 1 && axes.contains(&differ[0])
    };
    places.iter().filter(|(_, place)| shares(place)).map(|(block, _)| *block).collect()
}

/// Returns the parts of shared memory that a step accesses.
fn spans(kind: &StepKind) -> Vec<&Span> {
    match kind {
        StepKind::Fill { into, .. } => into.iter().collect(),
        StepKind::Copy(span) | StepKind::Access { span, .. } | StepKind::Atomic { span, .. } => vec![span],
        StepKind::Multiply { shared, .. } => shared.iter().collect(),
        StepKind::Store(from) => from.iter().collect(),
        StepKind::Acquire { .. }
        | StepKind::Wait { .. }
        | StepKind::Release { .. }
        | StepKind::Commit
        | StepKind::WaitCopies(_)
        | StepKind::Touch { .. }
        | StepKind::WaitProducts(_)
        | StepKind::WaitStores(_)
        | StepKind::Take(_)
        | StepKind::Pass(_)
        | StepKind::AwaitFlag { .. }
        | StepKind::Sync
        | StepKind::Meet { .. }
        | StepKind::SyncCluster => Vec::new(),
    }
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
            memory: vec![Memory::default(); table.blocks],
            raised: BTreeSet::new(),
        }
    }

    pub(super) fn is_ended(&self, table: &Table<'_>) -> bool {
        (0..self.agents.len()).all(|agent| table.step(agent, self.agents[agent].at).is_none())
    }

    /// Returns a copy that is still in flight into a block whose groups have all ended.
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

    /// Makes the steps that no other agent can notice, and that notice no other.
    pub(super) fn run_alone(&mut self, table: &Table<'_>, reads: &mut Reads) -> Result<(), Wrong> {
        for agent in 0..self.agents.len() {
            while let Some(step) = table.step(agent, self.agents[agent].at) {
                let quiet = self.agents[agent].flying.is_empty();
                let is_alone = match &step.kind {
                    StepKind::Commit => true,
                    StepKind::Touch { .. } | StepKind::WaitProducts(_) | StepKind::WaitStores(_) => quiet,
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
                    let n = state.filled * table.pipes[block][pipe].stages + slot;
                    let expected = table.pipes[block][pipe].expected.get(&n).copied().unwrap_or(0);
                    // Lowering makes a stage wait for every group of the scope that fills it, so no group is late for the stage.
                    let groups = table.pipes[block][pipe].acquirers.get(&n).copied().unwrap_or(1);
                    if state.armed >= groups && expected > 0 && state.issued >= expected {
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
        // A barrier has only the parity of its phase.
        let passed = |complete: u32, phase: u32| complete % 2 != phase % 2;
        match &step.kind {
            StepKind::Acquire { pipe, n } => {
                let ring = &table.pipes[block][*pipe as usize];
                let slot = self.slots[block][*pipe as usize][(n % ring.stages) as usize];
                match (n / ring.stages).checked_sub(1) {
                    Some(phase) => passed(slot.given / ring.releases.max(1), phase),
                    None => true,
                }
            }
            StepKind::Wait { pipe, n } => {
                let stages = table.pipes[block][*pipe as usize].stages;
                let slot = self.slots[block][*pipe as usize][(n % stages) as usize];
                passed(slot.filled, n / stages)
            }
            StepKind::Take(turns) => {
                let group = table.scripts[agent].group as usize;
                let complete = self.passed[block][*turns as usize][group];
                passed(complete, self.agents[agent].taken[*turns as usize])
            }
            StepKind::AwaitFlag { tensor } => {
                let mut raised = self.raised.iter();
                raised.any(|(of, flag, by)| (*of, *flag) == (block, *tensor) && *by != step.team)
            }
            StepKind::Sync | StepKind::Meet { .. } | StepKind::SyncCluster => !self.agents[agent].arrived,
            _ => true,
        }
    }

    /// Makes an event.
    pub(super) fn apply(&mut self, table: &Table<'_>, event: Event, reads: &mut Reads) -> Result<(), Wrong> {
        match event {
            Event::Arrive { block, pipe, slot } => {
                let state = &mut self.slots[block][pipe][slot as usize];
                let ring = &table.pipes[block][pipe];
                let n = state.filled * ring.stages + slot;
                state.filled += 1;
                state.armed -= ring.acquirers.get(&n).copied().unwrap_or(1);
                state.issued = 0;
                state.flying = 0;
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
        // Threads meet at one operation for a sum. A scope meets at its barriers in order, wherever they are written. All scopes meet at
        // the barrier of the cluster.
        let same = |s: &Step| match step.kind {
            StepKind::Meet { .. } => s.op == step.op,
            StepKind::SyncCluster => true,
            _ => s.team == step.team,
        };
        let arrived = |other: &usize| {
            let state = &self.agents[*other];
            let is_here = |s: &Step| s.kind == step.kind && same(s);
            state.arrived && table.step(*other, state.at).is_some_and(is_here)
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
            StepKind::Fill { pipe, n, into, multicast, .. } => {
                let axes = multicast.iter().map(|cast| cast.axis).collect();
                for other in reached(table.scripts, block, &axes) {
                    let slot = n % table.pipes[other][*pipe as usize].stages;
                    let state = &mut self.slots[other][*pipe as usize][slot as usize];
                    state.issued += 1;
                    state.flying += 1;
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
                // Atomic accesses of one flag do not race. What a relaxed one leaves unordered only the machine knows.
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
            StepKind::Store(from) => {
                if let Some(from) = from {
                    self.reads(table, (agent, at, 0), step, from, reads)?;
                }
                let spans = from.iter().cloned().collect();
                self.agents[agent].flying.push(flying(op, Kind::Store, spans, block));
            }
            StepKind::WaitStores(leave) => self.complete(agent, Kind::Store, *leave as usize),
            StepKind::Take(turns) => self.agents[agent].taken[*turns as usize] += 1,
            StepKind::Pass(turns) => {
                self.passed[block][*turns as usize][table.next_group(agent)] += 1;
            }
            StepKind::Wait { .. }
            | StepKind::AwaitFlag { .. }
            | StepKind::Sync
            | StepKind::Meet { .. }
            | StepKind::SyncCluster => {}
        }
        Ok(())
    }

    /// Completes all operations of a kind that an agent has in flight, but the newest.
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

    /// Checks that nothing in flight uses a part of shared memory that an operation begins to write.
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

fn flying(op: OpId, kind: Kind, spans: Vec<Span>, block: usize) -> Flying {
    Flying { op, kind, spans, block, registers: Vec::new(), c: None }
}

fn threads(step: &Step, group: u32, turn: u32) -> Writer {
    let done = 1 << (group - step.team.first).min(31);
    Writer::Threads { op: step.op, team: step.team, turn, done }
}

//! Runs the scripts of all groups of a cluster. A group runs until it has to wait; the order of the groups does not matter.

mod far;
mod joined;
mod steps;
mod stuck;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hx_tile::{OpId, TensorId};

use self::far::Far;
use super::accesses::{Access, Accesses};
use super::knowledge::{Epoch, Knowledge};
use super::script::{Script, Span, StepKind, Team};
use super::{Kind, Protocol};

/// The result of [`run`].
pub(crate) struct Ran {
    /// In the order of time.
    pub(crate) faults: Vec<Kind>,
    /// The waits whose order is not decided.
    pub(crate) undecided: BTreeSet<OpId>,
}

/// Runs the scripts to their ends, or until all are blocked. `choose` picks one of the groups that may go on.
pub(crate) fn run(protocol: &Protocol, scripts: &[Script], choose: &mut dyn FnMut(&[usize]) -> usize) -> Ran {
    let mut machine = Machine::new(protocol, scripts);
    machine.run(choose);
    Ran { faults: machine.faults, undecided: machine.undecided }
}

/// Runs the scripts. Adds to `met` the pairs of operations of one scope that an agent executes in this order, and to `unordered` the
/// pairs of accesses of which a thread makes the second without knowing that another thread has made the first.
pub(crate) fn order(
    protocol: &Protocol,
    scripts: &[Script],
    asked: &BTreeSet<(OpId, OpId)>,
    [met, unordered]: [&mut BTreeSet<(OpId, OpId)>; 2],
) {
    let mut machine = Machine::new(protocol, scripts);
    machine.asked.asked = Some(asked);
    machine.run(&mut |ready| ready[0]);
    met.append(&mut machine.asked.met);
    unordered.append(&mut machine.asked.unordered);
}

/// The bytes of the first stage that each filler of a pipe filled, with the operation that did: by pipe, and by team if several
/// teams fill each stage together.
pub(crate) type FirstBytes = BTreeMap<(u32, Option<Team>), (OpId, u64)>;

/// Compares the bytes of every stage with those of the first stage of its pipe, in this and earlier launches, which `pipes`
/// remembers. Returns the first difference; `None` if there is none.
pub(crate) fn unequal(protocol: &Protocol, scripts: &[Script], pipes: &mut FirstBytes) -> Option<Kind> {
    let mut unequal = None;
    for script in scripts {
        let mut stages: BTreeMap<(u32, Team, u32), (OpId, u64)> = BTreeMap::new();
        for step in &script.steps {
            match &step.kind {
                StepKind::Acquire { pipe, n } => _ = stages.insert((*pipe, step.team, *n), (step.op, 0)),
                StepKind::Fill { pipe, n, bytes, .. } => {
                    // If copies fill the stage, the report points at the last one.
                    let stage = stages.entry((*pipe, step.team, *n)).or_insert((step.op, 0));
                    *stage = (step.op, stage.1 + bytes);
                }
                _ => {}
            }
        }
        let fills = |group: &Script| group.steps.iter().any(|s| matches!(s.kind, StepKind::Fill { .. }));
        // The groups of a scope acquire together, and only the first of them copies.
        if !fills(script) {
            continue;
        }
        for ((pipe, team, _), (acquire, bytes)) in stages {
            let together = protocol.pipes[pipe as usize].fillers > 1;
            let first = pipes.entry((pipe, together.then_some(team)));
            let (other, expected) = *first.or_insert((acquire, bytes));
            if bytes != expected && unequal.is_none() {
                unequal = Some(Kind::Unequal { pipe, acquire, bytes, other, expected });
            }
        }
    }
    unequal
}

/// The components of the clocks: for each agent its threads, its waits and its four queues, then for each block the stages of each pipe,
/// then for each block the rounds of each barrier of several groups.
struct Components {
    agents: usize,
    blocks: usize,
    /// The number of stages of all pipes before each pipe.
    before: Vec<usize>,
    /// The number of stages of all pipes of a block.
    stages: usize,
    /// The number of barriers of several groups of a block.
    barriers: usize,
}

impl Components {
    fn count(&self) -> usize {
        self.agents * 6 + self.blocks * (self.stages + self.barriers)
    }

    fn threads(&self, agent: usize) -> usize {
        agent
    }

    /// Returns the component of the waits of an agent and of the products that it waits for. Each of its threads knows them, while it does
    /// not know the accesses of the other threads.
    fn waits(&self, agent: usize) -> usize {
        self.agents + agent
    }

    fn queue(&self, which: Queue, agent: usize) -> usize {
        self.agents * (2 + which as usize) + agent
    }

    fn stage(&self, block: u32, pipe: u32, stage: u32) -> usize {
        let first = self.agents * 6 + block as usize * self.stages;
        first + self.before[pipe as usize] + stage as usize
    }

    /// Returns the component of the rounds of a barrier that are complete.
    fn rounds(&self, block: u32, barrier: u32) -> usize {
        let first = self.agents * 6 + self.blocks * self.stages;
        first + block as usize * self.barriers + barrier as usize
    }
}

/// Asynchronous operations of an agent that complete in order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queue {
    Products = 0,
    Stores = 1,
    Copies = 2,
    /// The writes of the stores; `Stores` are their reads.
    Writes = 3,
}

/// A product that its group has issued and not waited for.
struct Product {
    op: OpId,
    c: TensorId,
    registers: Vec<TensorId>,
    shared: Vec<Span>,
    /// The stages that hold its operands.
    stages: Vec<(u32, u32)>,
}

/// The state of a group.
struct Agent {
    block: u32,
    /// The next step of its script.
    at: usize,
    /// The events that every thread of the group knows to have happened.
    all: Knowledge,
    /// The events that a thread knows of its own asynchronous operations, beyond those that every thread knows: the elected thread
    /// of its bulk copies, each thread of its own copies.
    own: Knowledge,
    now: u32,
    products: VecDeque<Product>,
    /// The number of operations issued to each queue; of copies the number of closed groups.
    issued: [u32; 4],
    /// Whether the group has arrived at the barrier or the sum at which it waits.
    arrived: bool,
}

/// A stage of a pipe between two fills: number `n` of the endless count.
#[derive(Default, Clone)]
struct Stage {
    /// The operation that acquired it first, with its team and the time; `None` before.
    acquired: Option<(OpId, Team, Epoch)>,
    /// The teams that acquired it.
    fillers: BTreeSet<Team>,
    /// The number of copies and publications that fill it, over all blocks that send, and the number of those issued so far.
    expected: u32,
    issued: u32,
    filled: Option<Knowledge>,
    /// The waits for it: operation and time.
    waited: Vec<(OpId, Epoch)>,
    released: u32,
    given: Option<Knowledge>,
}

struct PipeState {
    stages: u32,
    /// The number of releases that make a stage free.
    releases: u32,
    /// The axes of the cluster along which blocks share copies.
    axes: BTreeSet<u8>,
    /// The stages between two fills, by `n`.
    all: Vec<Stage>,
}

/// The turns of one group.
#[derive(Clone, Default)]
struct TurnState {
    /// The knowledge that comes with each turn that the group has not taken, oldest first.
    passed: VecDeque<Knowledge>,
    /// The time at which the group took its last turn; `None` before its first.
    taken: Option<Epoch>,
}

/// A round of a barrier of several groups.
#[derive(Clone, Default)]
struct Round {
    /// The number of groups that have come.
    come: usize,
    /// The knowledge of those that have come.
    told: Option<Knowledge>,
}

/// A barrier of a scope.
struct BarrierState {
    arrived: Vec<usize>,
    knowledge: Knowledge,
}

struct Machine<'a> {
    protocol: &'a Protocol,
    scripts: &'a [Script],
    components: Components,
    agents: Vec<Agent>,
    /// By block, then by pipe.
    pipes: Vec<Vec<PipeState>>,
    /// By block, then by turns, then by group.
    turns: Vec<Vec<Vec<TurnState>>>,
    /// By block, then by barrier of several groups, then by round.
    rounds: Vec<Vec<Vec<Round>>>,
    /// By block and scope; that of the cluster has no block.
    barriers: BTreeMap<(Option<u32>, Team), BarrierState>,
    /// The agents at each sum over the cluster: by operation, by the first of the blocks, and by scope.
    meetings: BTreeMap<(OpId, u32, Team), Vec<usize>>,
    /// The accesses to shared memory that a later one may meet, by block.
    memory: Vec<Accesses>,
    /// The accesses to global memory that stores of other scopes write, by block.
    far: Vec<Vec<Far>>,
    /// The atomic writes of shared tensors: by block and tensor, the scope that wrote and the knowledge that it released.
    flags: BTreeMap<(u32, TensorId), Vec<(Team, Knowledge)>>,
    /// The waits for flags that several writes may end.
    undecided: BTreeSet<OpId>,
    /// The last step may end the wait of another agent.
    woke: bool,
    faults: Vec<Kind>,
    /// The pairs of operations that [`ordered`] asks for.
    asked: Pairs<'a>,
}

/// Pairs of operations of one scope, of which the first writes a shared tensor by threads and the second uses it.
#[derive(Default)]
struct Pairs<'a> {
    asked: Option<&'a BTreeSet<(OpId, OpId)>>,
    /// The operations with which each agent has accessed shared memory.
    seen: BTreeSet<(usize, OpId)>,
    /// The pairs whose second operation an agent has executed after the first.
    met: BTreeSet<(OpId, OpId)>,
    /// The pairs with two accesses to one part of a tensor, of which the second agent does not know that of the first.
    unordered: BTreeSet<(OpId, OpId)>,
}

impl Pairs<'_> {
    /// Notes an access. `unknown` are the earlier accesses of its scope to the same elements that its agent does not know. A write that
    /// another scope has overwritten is not among them: the agent knows it if it knows the other write, and otherwise the access and the
    /// other write are a fault.
    fn see<'a>(&mut self, new: &Access, unknown: impl Iterator<Item = &'a Access>) {
        let Some(asked) = self.asked else { return };
        let seen =
            |(earlier, later): &&(OpId, OpId)| *later == new.op && self.seen.contains(&(new.agent, *earlier));
        self.met.extend(asked.iter().filter(seen));
        for old in unknown {
            self.unordered.insert((old.op, new.op));
            // The agents of a scope run in any order, so the other access may also come first.
            if old.agent != new.agent {
                self.unordered.insert((new.op, old.op));
            }
        }
        self.seen.insert((new.agent, new.op));
    }
}

impl<'a> Machine<'a> {
    fn new(protocol: &'a Protocol, scripts: &'a [Script]) -> Machine<'a> {
        let blocks = scripts.iter().map(|script| script.block + 1).max().unwrap_or(1);
        let mut before = Vec::new();
        let mut stages = 0;
        for pipe in &protocol.pipes {
            before.push(stages);
            stages += pipe.stages.max(1) as usize;
        }
        let components = Components {
            agents: scripts.len(),
            blocks: blocks as usize,
            before,
            stages,
            barriers: protocol.barriers.len(),
        };
        let count = components.count();
        let agent = |script: &Script| Agent {
            block: script.block,
            at: 0,
            all: Knowledge::nothing(count),
            own: Knowledge::nothing(count),
            now: 0,
            products: VecDeque::new(),
            issued: [0; 4],
            arrived: false,
        };
        let groups = protocol.groups as usize;
        let turn = || {
            let mut turns = vec![TurnState::default(); groups];
            for role in protocol.roles.iter().filter(|role| role.each) {
                // The first group of a role need not wait for its first turn.
                turns[role.first as usize].passed.push_back(Knowledge::nothing(count));
            }
            turns
        };
        let mut machine = Machine {
            protocol,
            scripts,
            components,
            agents: scripts.iter().map(agent).collect(),
            pipes: (0..blocks).map(|block| pipe_states(protocol, scripts, block)).collect(),
            turns: (0..blocks).map(|_| protocol.turns.iter().map(|_| turn()).collect()).collect(),
            rounds: vec![vec![Vec::new(); protocol.barriers.len()]; blocks as usize],
            barriers: BTreeMap::new(),
            meetings: BTreeMap::new(),
            memory: (0..blocks).map(|_| Accesses::default()).collect(),
            far: (0..blocks).map(|_| Vec::new()).collect(),
            flags: BTreeMap::new(),
            undecided: BTreeSet::new(),
            woke: false,
            faults: Vec::new(),
            asked: Pairs::default(),
        };
        machine.expect_copies();
        machine
    }

    /// Runs the scripts to their ends, or until all are blocked.
    fn run(&mut self, choose: &mut dyn FnMut(&[usize]) -> usize) {
        let mut ready: Vec<usize> = (0..self.scripts.len()).collect();
        while !ready.is_empty() {
            let agent = choose(&ready);
            if !self.step(agent) {
                // Only a step of another agent can end a wait.
                ready.retain(|other| *other != agent);
            } else if self.woke {
                self.woke = false;
                ready = (0..self.scripts.len()).collect();
            }
        }
        match self.stuck() {
            Some(stuck) => self.faults.push(stuck),
            None => self.ended(),
        }
    }

    /// Counts the copies into each stage and its publications.
    fn expect_copies(&mut self) {
        for script in self.scripts {
            for step in &script.steps {
                if let StepKind::Publish { pipe, n } = step.kind {
                    self.pipes[script.block as usize][pipe as usize].stage(n).expected += 1;
                }
                let StepKind::Fill { pipe, n, multicast, .. } = &step.kind else { continue };
                let axes = multicast.iter().map(|cast| cast.axis).collect();
                for block in self.targets(script.block, &axes) {
                    self.pipes[block as usize][*pipe as usize].stage(*n).expected += 1;
                }
            }
        }
    }

    /// Returns the blocks that share copies with a block along some of these axes, and the block itself.
    fn targets(&self, block: u32, axes: &BTreeSet<u8>) -> Vec<u32> {
        targets(self.scripts, block, axes)
    }

    /// Finds the copies that a block can still receive after its end: no group of the block waits for them.
    fn ended(&mut self) {
        self.unmet();
        for block in 0..self.pipes.len() {
            let agents = self.agents.iter().filter(|agent| agent.block as usize == block);
            let mut known = Knowledge::nothing(self.components.count());
            agents.for_each(|agent| known.join(&agent.own));
            for script in self.scripts {
                let is_own = script.block as usize == block;
                for step in &script.steps {
                    let StepKind::Fill { pipe, n, multicast, .. } = &step.kind else { continue };
                    let reaches = |axis: u8| {
                        self.targets(script.block, &BTreeSet::from([axis])).contains(&(block as u32))
                    };
                    if !is_own && !multicast.as_ref().is_some_and(|cast| reaches(cast.axis)) {
                        continue;
                    }
                    let stages = self.pipes[block][*pipe as usize].stages;
                    let component = self.components.stage(block as u32, *pipe, n % stages);
                    if !known.knows(Epoch { component, time: n / stages }) {
                        let (copy, pipe) = (step.op, *pipe);
                        self.faults.push(match is_own {
                            true => Kind::Unwaited { copy, pipe, rounds: self.rounds(block as u32, pipe) },
                            false => Kind::Gone { copy },
                        });
                    }
                }
            }
        }
    }
}

/// Returns the blocks whose place differs from that of a block along one of these axes at most.
fn targets(scripts: &[Script], block: u32, axes: &BTreeSet<u8>) -> Vec<u32> {
    let place = |block: u32| scripts.iter().find(|script| script.block == block).map(|script| script.place);
    let Some(here) = place(block).filter(|_| !axes.is_empty()) else { return vec![block] };
    let blocks = scripts.iter().map(|script| script.block + 1).max().unwrap_or(1);
    let shares = |other: &u32| {
        let other = place(*other).unwrap_or(here);
        let differ = (0u8..).zip(here.iter().zip(other)).filter(|(_, (a, b))| **a != *b);
        let differ: Vec<u8> = differ.map(|(axis, _)| axis).collect();
        match differ.as_slice() {
            [] => true,
            [axis] => axes.contains(axis),
            _ => false,
        }
    };
    (0..blocks).filter(shares).collect()
}

fn pipe_states(protocol: &Protocol, scripts: &[Script], block: u32) -> Vec<PipeState> {
    let axes = |wanted: usize| -> BTreeSet<u8> {
        let steps = scripts.iter().flat_map(|script| &script.steps);
        let cast = steps.filter_map(|step| match &step.kind {
            StepKind::Fill { pipe, multicast: Some(cast), .. } if *pipe as usize == wanted => Some(cast.axis),
            _ => None,
        });
        cast.collect()
    };
    let state = |(at, pipe): (usize, &super::Pipe)| {
        let axes = axes(at);
        let releases = pipe.readers * targets(scripts, block, &axes).len() as u32;
        PipeState { stages: pipe.stages.max(1), releases, axes, all: Vec::new() }
    };
    protocol.pipes.iter().enumerate().map(state).collect()
}

impl PipeState {
    fn stage(&mut self, n: u32) -> &mut Stage {
        if self.all.len() <= n as usize {
            self.all.resize(n as usize + 1, Stage::default());
        }
        &mut self.all[n as usize]
    }
}

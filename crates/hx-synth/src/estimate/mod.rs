//! The estimate of a solved kernel with pipelines: what its roles do at the same time, and which resource bounds their loops.
//!
//! Inside of the search a solution costs the sum of its operations. This is right for a component, whose threads execute one
//! operation after the other. The roles of a kernel run at the same time, and products and copies run beside the threads. So each
//! role gets a clock of its own ([`clock`], [`walk`]). Loops of several roles along the same pipeline advance together: a round
//! takes the most cycles of any role, and of any resource summed over the roles.
//!
//! Not modelled: the time that DRAM takes, and the waits in shared queues below these sums.
//!
//! Start at [`estimate`].

mod blocks;
mod clock;
mod forecast;
mod known;
mod launched;
mod record;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use hx_index::Symbol;
use hx_tile::{
    Bound, Cost, Estimate, Launch, LiveTensors, LoopEstimate, OpCycles, OpId, OpKind, PipeId, Resource,
    ResourceCycles, RoleEstimate, ScopeId, Solution, Stmt, SyncOp, TileProgram, registers_of,
};

use self::clock::Clock;
pub use self::forecast::{Bottleneck, Forecast, forecast};
use self::known::Values;
pub use self::known::{Known, Read};
pub(crate) use self::record::costs;
use self::walk::{LoopId, Round, Walk};
use crate::checks::size::registers_of_a_thread;
use crate::constraints::component::UNKNOWN_TRIPS;
use crate::cost;

/// Returns the estimate of a solved program with pipelines; `None` for other programs. `dims` are the known dimensions and strides: numbers of rounds and blocks follow from them.
pub fn estimate(program: &TileProgram, solution: &Solution, dims: &[(String, i64)]) -> Option<Estimate> {
    (!program.pipes.is_empty()).then(|| estimate_any(program, solution, dims))
}

/// Returns the estimate of a solution of any program, as [`estimate`] does: without pipelines it has no loops, and one role.
pub fn estimate_any(program: &TileProgram, solution: &Solution, dims: &[(String, i64)]) -> Estimate {
    let known = dims.iter().map(|(name, value)| (Symbol::Dim(name.as_str().into()), *value));
    Estimator::new(program, solution, values(program, known), None).estimate()
}

/// Returns the estimated cycles of the blocks that a multiprocessor runs at the same time, of a program of any kind. Blocks hide each
/// other's waits, so a wait counts only as far as the shared resources would be idle.
pub fn wave_cycles(program: &TileProgram, solution: &Solution) -> f64 {
    let estimator = Estimator::new(program, solution, values(program, []), None);
    let Estimate { block, resources, .. } = estimator.estimate();
    block.max(resources.most().1 * f64::from(estimator.sharing()))
}

/// Returns the number of blocks of a solved program that a multiprocessor holds, if a block has no more registers than its tensors and
/// addresses need.
pub fn resident_blocks(program: &TileProgram, solution: &Solution) -> u32 {
    Estimator::new(program, solution, values(program, []), None).sharing()
}

/// Returns the cycles by which complete solutions of a program are compared: those of a block by the estimate if roles run at the
/// same time, else the sum over all operations.
pub fn compared(program: &TileProgram, solution: &Solution) -> f64 {
    if program.roles().is_empty() {
        return solution.cost;
    }
    let estimate = estimate(program, solution, &[]);
    estimate.map_or(solution.cost, |estimate| estimate.block)
}

/// Returns the known values of symbols at the start of the first block.
fn values(program: &TileProgram, known: impl IntoIterator<Item = (Symbol, i64)>) -> Values {
    let mut values: Values = known.into_iter().collect();
    values.entry(Symbol::Multiprocessors).or_insert(i64::from(program.target.costs().multiprocessors));
    for (axis, of) in program.grid.iter().enumerate() {
        let blocks = of.blocks.eval(&|symbol| values.get(symbol).copied());
        if let Ok(blocks) = blocks {
            values.insert(Symbol::GridDim(axis as u8), blocks);
        }
    }
    values.extend((0..3).map(|axis| (Symbol::BlockIdx(axis), 0)));
    values
}

struct Estimator<'p> {
    program: &'p TileProgram,
    solution: &'p Solution,
    /// The costs of the operations: those of the solution, or those in a launch.
    costs: &'p BTreeMap<OpId, Cost>,
    start: Values,
    /// The tensors of the launch that is estimated; `None` without a launch.
    launch: Option<&'p Read<'p>>,
    /// The part of the launch's time that DRAM needs for its tensors.
    from_dram: f64,
}

/// The threads that run one text: a role, or the whole block.
struct Part<'p> {
    scope: ScopeId,
    body: &'p [Stmt],
    index: Option<&'p Symbol>,
    groups: f64,
    spills: f64,
    registers: [i64; 2],
}

impl Part<'_> {
    /// Returns the estimate of a role from the walks of its groups.
    fn estimate(&self, groups: &[Walk<'_>]) -> RoleEstimate {
        let mut resources = ResourceCycles::default();
        groups.iter().for_each(|walk| resources += walk.clock.resources);
        let most = |of: fn(&Walk<'_>) -> f64| groups.iter().map(of).fold(0.0, f64::max);
        RoleEstimate {
            scope: self.scope,
            cycles: most(|walk| walk.clock.now) + self.spills,
            busy: most(|walk| walk.clock.busy),
            resources,
            registers: self.registers,
            spills: self.spills,
        }
    }
}

impl<'p> Estimator<'p> {
    fn new(
        program: &'p TileProgram,
        solution: &'p Solution,
        start: Values,
        launch: Option<&'p Read<'p>>,
    ) -> Estimator<'p> {
        Estimator { program, solution, costs: &solution.costs, start, launch, from_dram: 0.0 }
    }

    fn estimate(&self) -> Estimate {
        let parts = self.parts();
        let free = BTreeMap::new();
        let alone: Vec<Walk<'_>> = parts.iter().map(|part| self.walked(part, 0, &free)).collect();
        let rounds: Vec<&[Round]> = alone.iter().map(|walk| walk.rounds.as_slice()).collect();
        let loops = self.loops(&parts, &rounds);
        let floors: BTreeMap<LoopId, f64> = loops.iter().map(|(id, found)| (*id, found.cycles)).collect();
        let (mut roles, mut walks) = (Vec::new(), Vec::new());
        let (mut resources, mut ops) = (ResourceCycles::default(), BTreeMap::new());
        for part in &parts {
            let groups: Vec<Walk<'_>> =
                (0..part.groups as i64).map(|group| self.walked(part, group, &floors)).collect();
            let role = part.estimate(&groups);
            resources += role.resources;
            self.spent(part, &groups, &mut ops);
            roles.push(role);
            walks.extend(groups);
        }
        let busiest = self.busiest(&resources, &walks);
        let block = roles.iter().map(|role| role.cycles).fold(busiest, f64::max) + self.cluster_barriers();
        let mut loops: Vec<LoopEstimate> = loops.into_iter().map(|(_, found)| found).collect();
        self.without_fillers(&mut loops);
        loops.sort_by(|a, b| (b.cycles * b.rounds).total_cmp(&(a.cycles * a.rounds)));
        let assumed = walks.iter().any(|walk| walk.assumed).then_some(UNKNOWN_TRIPS);
        let launch = self.launch(block, &resources);
        Estimate { roles, loops, block, resources, ops, assumed, launch }
    }

    /// Adds the cycles of the operations that the groups of a part execute.
    fn spent(&self, part: &Part<'_>, groups: &[Walk<'_>], out: &mut BTreeMap<OpId, OpCycles>) {
        for (op, _) in self.program.ops(1.0) {
            let Some(cost) = self.costs.get(&op.id) else { continue };
            let spent = out.entry(op.id).or_default();
            // The walk of every group begins with the operations of the block, whose cycles count once.
            let is_own = op.scope == part.scope;
            for (number, walk) in groups.iter().enumerate() {
                let times = walk.executions.get(&op.id).copied().unwrap_or(0.0);
                let waited = walk.clock.waits.get(&op.id).copied().unwrap_or(0.0);
                spent.threads = spent.threads.max(cost.threads * times + waited);
                if is_own || (number == 0 && spent.resources == ResourceCycles::default()) {
                    spent.resources += cost.resources * times;
                }
            }
        }
    }

    /// Returns the cycles of the two barriers of a cluster, before its blocks use each other's memory and after.
    fn cluster_barriers(&self) -> f64 {
        let alone = self.program.cluster.iter().product::<u32>() == 1;
        if alone { 0.0 } else { 2.0 * self.program.target.costs().cluster_barrier }
    }

    /// Returns the cycles of a block whose busiest resource idles only until the first stage arrives, and after the end of the
    /// loops along pipelines, where it has less to do than the threads.
    fn busiest(&self, resources: &ResourceCycles, walks: &[Walk<'_>]) -> f64 {
        let (resource, most) = resources.most();
        let first = self.arrivals().into_values().fold(f64::INFINITY, f64::min);
        let before = if first.is_finite() { first } else { 0.0 };
        let idle = |walk: &Walk<'_>| {
            let (end, taken) = walk.last;
            walk.clock.now - end - (walk.clock.resources - taken)[resource]
        };
        most + before + walks.iter().map(idle).fold(0.0, f64::max)
    }

    /// Returns the roles, or the whole block if there are none.
    fn parts(&self) -> Vec<Part<'p>> {
        let target = self.program.target;
        let whole = |scope, body, index| {
            let registers = self.registers(scope);
            let over = (registers[0] - registers[1]).max(0);
            let of = self.program.scope(scope);
            let spills = if over > 0 { cost::spill(target, of.threads, over) } else { 0.0 };
            Part { scope, body, index, groups: f64::from(of.groups), spills, registers }
        };
        match self.program.roles() {
            [] => vec![whole(ScopeId::BLOCK, &self.program.body, None)],
            roles => roles.iter().map(|role| whole(role.scope, &role.body, role.index.as_ref())).collect(),
        }
    }

    /// Walks the statements that all threads run first, and then those of a part, as the group with this number.
    fn walked<'w>(&'w self, part: &Part<'_>, group: i64, floors: &'w BTreeMap<LoopId, f64>) -> Walk<'w> {
        let mut clock = Clock::new(self.program.target, self.arrivals());
        let (mut values, mut executions) = (self.start.clone(), BTreeMap::new());
        if !self.program.roles().is_empty() {
            let mut before = Walk::new(self.program, self.costs, values, floors, clock, self.launch);
            before.body(&self.program.body, 1.0);
            (clock, values, executions) = (before.clock, before.values, before.executions);
            let begun = clock.now;
            clock.arrivals.values_mut().for_each(|arrival| *arrival += begun);
            clock.resources = ResourceCycles::default();
        }
        values.extend(part.index.map(|index| (index.clone(), group)));
        let mut walk = Walk::new(self.program, self.costs, values, floors, clock, self.launch);
        walk.executions = executions;
        walk.body(part.body, 1.0);
        walk
    }

    /// Returns the cycles after which the first stage of each pipeline has arrived.
    fn arrivals(&self) -> BTreeMap<PipeId, f64> {
        let mut arrivals = BTreeMap::new();
        for (op, _) in self.program.ops(1.0) {
            let OpKind::CopyAsync { signal: Some(pipe), .. } = op.kind else { continue };
            let Some(cost) = self.costs.get(&op.id) else { continue };
            let arrival = cost.latency + cost.resources[Resource::Global];
            let known = arrivals.entry(pipe).or_insert(0.0f64);
            *known = known.max(arrival);
        }
        arrivals
    }

    /// Returns the cycles from the release of a stage until its next tiles have arrived, in a launch that keeps all multiprocessors
    /// busy. The copies behind one acquisition fill one stage; a text may fill stages at several places. Returns 0 for a pipeline without
    /// copies: the estimate of the role that writes its stages has their time.
    fn refill(&self, pipe: PipeId) -> f64 {
        let (mut most, mut stage) = (0.0f64, 0.0);
        let mut has_copies = false;
        for (op, _) in self.program.ops(1.0) {
            if matches!(op.kind, OpKind::Sync(SyncOp::Acquire { pipe: of, .. }) if of == pipe) {
                stage = 0.0;
            } else if matches!(op.kind, OpKind::CopyAsync { signal: Some(of), .. } if of == pipe) {
                stage += self.costs.get(&op.id).map_or(0.0, |cost| cost.resources[Resource::Global]);
                most = most.max(stage);
                has_copies = true;
            }
        }
        if !has_copies {
            return 0.0;
        }
        self.program.target.costs().ring_latency
            + self.from_dram * launched::dram_latency(self.program)
            + most
    }

    /// Returns the part of the stages of a pipeline that each group of a part passes through.
    fn share(&self, part: &Part<'_>, pipe: PipeId) -> f64 {
        let target = self.program.target;
        let of = |scope: ScopeId| {
            let scope = self.program.scope(scope);
            f64::from(scope.groups * (scope.threads / target.limits.group).max(1))
        };
        let waits = |(op, _): &(&hx_tile::Op, f64)| matches!(op.kind, OpKind::Sync(SyncOp::WaitStage { pipe: of, .. }) if of == pipe);
        let scopes: BTreeSet<ScopeId> =
            self.program.ops(1.0).iter().filter(|op| waits(op)).map(|(op, _)| op.scope).collect();
        match self.program.pipe(pipe).readers {
            Some(readers) if scopes.contains(&part.scope) => {
                let all: f64 = scopes.into_iter().map(of).sum();
                (f64::from(readers) / all).min(1.0)
            }
            _ => 1.0,
        }
    }

    /// Returns the loops of the parts, each with the cycles of a round: at least those of the other loops along its pipelines,
    /// and of each resource summed over them.
    fn loops(&self, parts: &[Part<'_>], rounds: &[&[Round]]) -> Vec<(LoopId, LoopEstimate)> {
        let mut out = Vec::new();
        for (part, own) in parts.iter().zip(rounds) {
            for round in *own {
                out.push((round.id, self.one(part, round, parts, rounds)));
            }
        }
        out
    }

    /// Drops the loops of roles that fill a pipeline if another loop waits for its stages: the estimate of that loop covers both.
    fn without_fillers(&self, loops: &mut Vec<LoopEstimate>) {
        let all = loops.clone();
        let along = |a: &LoopEstimate, b: &LoopEstimate| a.pipes.iter().any(|pipe| b.pipes.contains(pipe));
        loops.retain(|found| found.waits || !all.iter().any(|other| other.waits && along(found, other)));
    }

    fn one(&self, part: &Part<'_>, round: &Round, parts: &[Part<'_>], rounds: &[&[Round]]) -> LoopEstimate {
        let pipes: Vec<PipeId> = round.stages.keys().copied().collect();
        let own_share = pipes.first().map_or(1.0, |pipe| self.share(part, *pipe));
        let mut resources = round.resources * (part.groups * own_share);
        let mut roles = vec![(part.scope, round.cycles)];
        let mut slowest = (part.scope, round);
        for (other, all) in parts.iter().zip(rounds) {
            if other.scope == part.scope {
                continue;
            }
            // Of the loops of another role along the same pipeline, take the one with the most rounds.
            let along = |r: &&Round| pipes.iter().any(|pipe| r.stages.contains_key(pipe));
            let Some(with) = all.iter().filter(along).max_by(|a, b| a.rounds.total_cmp(&b.rounds)) else {
                continue;
            };
            let Some((pipe, stages)) = round.stages.iter().find(|(pipe, _)| with.stages.contains_key(pipe))
            else {
                continue;
            };
            let share = self.share(other, *pipe);
            let times = stages / with.stages[pipe];
            resources += with.resources * (times * other.groups * share);
            let cycles = with.cycles * times * share;
            if cycles > slowest.1.cycles {
                slowest = (other.scope, with);
            }
            roles.push((other.scope, cycles));
        }
        roles.sort_by_key(|(scope, _)| *scope);
        let (resource, most) = resources.most();
        let role = roles.iter().map(|(_, cycles)| *cycles).fold(0.0, f64::max);
        let waits = slowest.1.waits.iter();
        let wait = waits.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        let waited: f64 = slowest.1.waits.values().sum();
        // A role bounds the loop if it takes longer than the busiest resource even without the waits for its own products and stores.
        let bound = if role - waited > most { Bound::Role(slowest.0) } else { Bound::Resource(resource) };
        LoopEstimate {
            pipes,
            scope: part.scope,
            waits: round.reads,
            cycles: role.max(most),
            rounds: round.rounds,
            resources,
            roles,
            bound,
            wait: wait.map(|(op, cycles)| (*op, *cycles)),
        }
    }

    /// Returns the registers that a thread of a scope needs for its tensors and addresses, and those that it has.
    fn registers(&self, scope: ScopeId) -> [i64; 2] {
        let words = |tensor: &hx_tile::TensorId| {
            let values = self.solution.registers.get(tensor).map_or(0, |held| held.layout.mode(1).size());
            registers_of(self.program, *tensor, values)
        };
        let across = LiveTensors::of(self.program).across;
        let here = across.iter().filter(|live| live.scope == scope);
        let most = here.map(|live| live.tensors.iter().map(words).sum::<i64>()).max().unwrap_or(0);
        let has = registers_of_a_thread(self.program, &self.solution.role_registers, scope);
        [most + self.program.target.costs().role_registers, has]
    }

    /// Returns the number of blocks that run on a multiprocessor at the same time.
    fn resident(&self) -> u32 {
        let (limits, threads) = (self.program.target.limits(), self.program.block_threads());
        let own = self.program.limits();
        let registers = own.registers_at_entry(threads).min(own.registers_per_thread);
        limits.residency(threads, registers, self.solution.shared_bytes).blocks.max(1)
    }

    /// As [`Estimator::resident`], for blocks that have no more registers than their tensors and addresses need.
    fn sharing(&self) -> u32 {
        if !self.program.roles().is_empty() {
            return self.resident();
        }
        let [need, most] = self.registers(ScopeId::BLOCK);
        let (limits, threads) = (self.program.target.limits(), self.program.block_threads());
        let registers = need.min(most).max(1) as u32;
        limits.residency(threads, registers, self.solution.shared_bytes).blocks.max(1)
    }

    /// Returns the waves of a launch; `None` if its number of blocks is not known. Blocks that share a multiprocessor share
    /// its resources.
    fn launch(&self, block: f64, resources: &ResourceCycles) -> Option<Launch> {
        let blocks = known::blocks(&self.start, self.program)?;
        let resident = self.resident();
        let blocks_of_cluster = self.program.cluster.iter().product();
        let of_clusters = self.program.target.costs().multiprocessors_of_clusters(blocks_of_cluster);
        let at_once = i64::from(resident * of_clusters);
        let waves = blocks.saturating_add(at_once - 1) / at_once;
        let wave = block.max(resources.most().1 * f64::from(resident));
        Some(Launch { blocks, at_once: at_once.min(blocks), waves, cycles: waves as f64 * wave })
    }
}

//! The estimate of a whole launch whose dimensions are known: the waves of its blocks, and the traffic of its tensors.
//!
//! A wave takes the cycles of a block, of which the loops have the numbers of rounds that the launch determines: its dimensions, its
//! integers, and the integers in its tensors. Blocks of different work are sampled ([`Blocks`]). A launch
//! cannot end before DRAM has moved each tensor once in each direction. A ring of few stages exposes the latency of its copies. Two limits that are
//! close to each other cost more than either alone ([`together`]). Not modelled: what the L2 cache keeps from one tile to the next.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hx_dtype::{AtomicOp, DType};
use hx_index::Symbol;
use hx_target::{Costs, Target};
use hx_tile::{
    Base, Choice, Estimate, LoopEstimate, OpKind, Param, ParamId, PipeId, Resource, ResourceCycles, Solution,
    TileProgram, View,
};

use super::blocks::{BlockCycles, Blocks};
use super::known::Known;
use super::{Estimator, launched, values};

/// The forecast of a launch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Forecast {
    /// The cycles of the launch.
    pub cycles: f64,
    /// The cycles by which it takes longer because its blocks divide their threads into roles.
    pub start: f64,
    /// The cycles of the launch if DRAM took no time.
    pub alone: f64,
    /// The cycles that DRAM takes, at the clock of the cost model.
    pub dram: f64,
    /// The cycles of the first block.
    pub block: f64,
    pub blocks: i64,
    pub waves: i64,
    /// The registers that the tensors and addresses of a thread need beyond those that it has; 0 if they fit.
    pub beyond: i64,
    /// The registers that the tensors of a thread alone need beyond those that it has; 0 if they fit.
    pub spilled: i64,
    /// The bytes of all tensors, each counted once if it is read and once if it is written.
    pub bytes: f64,
    pub bound: Bottleneck,
    /// Billions of cycles a second, of the cost model.
    pub clock: f64,
}

impl Forecast {
    /// Returns the time of the launch in microseconds, at the clock of the cost model.
    pub fn micros(&self) -> f64 {
        self.cycles / self.clock / 1e3
    }

    /// Returns the cycles of the launch at another clock, in billions of cycles a second: DRAM moves its bytes in the same time, so
    /// at a faster clock in more cycles.
    pub fn cycles_at(&self, clock: f64) -> f64 {
        self.start + together(self.alone, self.dram * clock / self.clock)
    }
}

/// The limit of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bottleneck {
    /// The blocks keep this resource of each multiprocessor busy for more than nine tenths of their cycles.
    Resource(Resource),
    /// The blocks wait, or their threads compute.
    Blocks,
    /// The tensors have to come from DRAM.
    Dram,
}

impl Bottleneck {
    /// Returns the name of the limit.
    pub fn name(self) -> &'static str {
        match self {
            Bottleneck::Resource(resource) => resource.name(),
            Bottleneck::Blocks => "threads and waits",
            Bottleneck::Dram => "DRAM",
        }
    }
}

/// A resource bounds the blocks if it is busy for this part of their cycles.
const BUSY: f64 = 0.9;

/// Forecasts a launch of a solved program. Returns `None` if what is known does not determine the number of blocks.
pub fn forecast(program: &TileProgram, solution: &Solution, known: Known<'_>) -> Option<Forecast> {
    let target = program.target;
    let start = values(program, known.symbols.iter().map(|(symbol, value)| (symbol.clone(), *value)));
    let costs = launched::costs_of_launch(program, solution, &start);
    let estimator =
        Estimator { costs: &costs, ..Estimator::new(program, solution, start.clone(), Some(known.read)) };
    let estimate = estimator.estimate();
    estimate.launch.as_ref()?;
    let clusters = program.cluster.iter().product();
    let blocks = Blocks {
        grid: estimator.grid(),
        resident: i64::from(estimator.sharing()),
        multiprocessors: i64::from(target.costs().multiprocessors_of_clusters(clusters)),
    };
    let lookup = |symbol: &Symbol| start.get(symbol).copied();
    let bytes = moved(program, &lookup, &|_| 1.0);
    let rows = stored_rows(program, solution);
    let dram = moved(program, &lookup, &|param| target.costs().box_rows.factor(rows.get(&param).copied()))
        / target.costs().dram_bytes;
    let (first, alone) = blocks_of(&estimator, &estimate, blocks, dram);
    let alone = alone * slowed(target, estimate.resources[Resource::Tensor] * blocks.for_each() / alone);
    let start = if program.roles().is_empty() { 0.0 } else { target.costs().role_start };
    let over = |[needed, has]: [i64; 2]| needed - has;
    let beyond = estimate.roles.iter().map(|role| over(role.registers)).max().unwrap_or(0).max(0);
    let spilled = (beyond - target.costs().role_registers).max(0);
    Some(Forecast {
        cycles: start + together(alone, dram),
        start,
        alone,
        dram,
        block: first.alone + first.waits,
        blocks: blocks.count(),
        waves: blocks.waves(),
        beyond,
        spilled,
        bytes,
        bound: bottleneck(&estimate.resources, blocks, [alone, dram]),
        clock: target.costs().clock,
    })
}

/// Returns the first block of a launch, and the cycles of all blocks. DRAM takes `dram` cycles for the tensors of the launch: the more of the
/// launch that is, the longer take copies from it than those from the L2 cache.
fn blocks_of(
    estimator: &Estimator<'_>,
    estimate: &Estimate,
    blocks: Blocks,
    dram: f64,
) -> (BlockCycles, f64) {
    let cycles = |estimator: &Estimator<'_>, first: BlockCycles| {
        blocks.cycles(&|block| match block {
            [0, 0, 0] => first,
            _ => {
                let of = estimator.at_block(block);
                block_cycles(&of, &of.estimate())
            }
        })
    };
    let near = cycles(estimator, block_cycles(estimator, estimate));
    let from_dram = if near > 0.0 { (dram / near).min(1.0) } else { 0.0 };
    let costs = launched::costs_from_dram(estimator.program, estimator.costs, from_dram);
    let estimator = Estimator { from_dram, costs: &costs, ..estimator.at_block([0; 3]) };
    let first = match &costs {
        Cow::Borrowed(_) => block_cycles(&estimator, estimate),
        Cow::Owned(_) => block_cycles(&estimator, &estimator.estimate()),
    };
    (first, cycles(&estimator, first))
}

/// Returns the limit of a launch whose blocks have these resources and whose limits are `alone`, its blocks, and `dram`.
fn bottleneck(resources: &ResourceCycles, blocks: Blocks, [alone, dram]: [f64; 2]) -> Bottleneck {
    let (resource, most) = resources.most();
    let shared = blocks.resident.min(blocks.count()).max(1);
    if dram > alone {
        Bottleneck::Dram
    } else if most * shared as f64 * blocks.waves() as f64 >= BUSY * alone {
        Bottleneck::Resource(resource)
    } else {
        Bottleneck::Blocks
    }
}

/// A launch that keeps the matrix units busy for a smaller part of its cycles runs at the highest clock. On an H200 a product of 256 x 4096 x
/// 16384 by std::gemm::gemm_swapped, which keeps them busy for 0.62, took 51 us, and the model says 54 us at the highest clock.
const COOL: f64 = 0.6;

/// Returns the factor by which the power of products slows a launch that keeps the matrix units busy for this part of its cycles.
fn slowed(target: Target, busy: f64) -> f64 {
    let Costs { clock, product_clock, .. } = target.costs();
    let hot = (busy.clamp(COOL, 1.0) - COOL) / (1.0 - COOL);
    product_clock.map_or(1.0, |slow| 1.0 + hot * (clock / slow - 1.0))
}

/// Returns the cycles of the block that an estimator estimates.
fn block_cycles(estimator: &Estimator<'_>, estimate: &Estimate) -> BlockCycles {
    let waits = estimate.loops.iter().map(|found| exposed(estimator, found)).fold(0.0, f64::max);
    let most = if estimator.program.roles().is_empty() {
        crowded(&estimate.resources)
    } else {
        estimate.resources.most().1
    };
    BlockCycles { alone: estimate.block, most, waits }
}

/// The sharpness of the knee between the resources of blocks without roles: with 3, two equal ones cost 26 % more than one of them.
/// Fitted to the kernels of `std` without roles on an H200: with the busiest resource alone they took 1.2 to 2 times the estimate where
/// several were busy.
const CROWDED: i32 = 3;

/// Returns the cycles of the resources of a block whose threads do one thing after the other, so that the blocks of a multiprocessor
/// often need the same resource at once. The slots of issue are part of each other resource's instructions.
fn crowded(resources: &ResourceCycles) -> f64 {
    let units = Resource::ALL.into_iter().filter(|resource| *resource != Resource::Issue);
    let all: f64 = units.map(|resource| resources[resource].powi(CROWDED)).sum();
    all.powf(1.0 / f64::from(CROWDED)).max(resources[Resource::Issue])
}

/// The sharpness of the knee between two limits: with 8, equal limits cost 9 % more than one of them, and a limit of 0.7 of the
/// other costs 0.7 %. Fitted together with `ring_latency` to the 1592 measured instances that the comment of
/// `ring_latency` in `h200.toml` names.
const KNEE: i32 = 8;

/// Returns the cycles of work with two limits. Arrivals and products vary in time, so that close limits are both felt.
fn together(a: f64, b: f64) -> f64 {
    let most = a.max(b);
    if most == 0.0 { 0.0 } else { most * (1.0 + (a.min(b) / most).powi(KNEE)).powf(1.0 / f64::from(KNEE)) }
}

/// Returns the cycles for which a loop of a block waits for copies because its ring has few stages. A stage is filled again
/// while the loop goes through the others.
fn exposed(estimator: &Estimator<'_>, found: &LoopEstimate) -> f64 {
    let of = |pipe: &PipeId| {
        let others = f64::from(estimator.program.pipe(*pipe).stages) - 1.0;
        let arrival = estimator.refill(*pipe);
        let wait =
            if others > 0.0 { together(arrival / others, found.cycles) - found.cycles } else { arrival };
        wait * found.rounds
    };
    if found.waits { found.pipes.iter().map(of).fold(0.0, f64::max) } else { 0.0 }
}

/// The directions in which a launch moves the elements of a tensor.
#[derive(Clone, Copy, Default)]
struct Directions {
    read: bool,
    written: bool,
}

/// Returns the directions in which operations move the tensor of each parameter. An addition to memory does both.
fn directions(program: &TileProgram) -> BTreeMap<ParamId, Directions> {
    let mut found: BTreeMap<ParamId, Directions> = BTreeMap::new();
    let mut note = |view: &View, read: bool, written: bool| {
        for base in view.bases() {
            let Base::Global(param) = base else { continue };
            let of = found.entry(param).or_default();
            // Tables that pick rows are read, whatever happens to the rows.
            let is_table = base != view.base;
            of.read |= read || is_table;
            of.written |= written && !is_table;
        }
    };
    for (op, _) in program.ops(1.0) {
        if let OpKind::Copy { src, dst } = &op.kind {
            note(src, true, false);
            note(dst, false, true);
        } else if let OpKind::CopyAsync { src, .. } = &op.kind {
            note(src, true, false);
        } else if let OpKind::Store { dst, adds, .. } = &op.kind {
            note(dst, *adds, true);
        } else if let OpKind::Atomic(atomic) = &op.kind {
            note(&atomic.memory, atomic.op != AtomicOp::Store, !atomic.is_load());
        }
    }
    found
}

/// Returns the bytes of a row of the narrowest boxes that are stored to each tensor.
fn stored_rows(program: &TileProgram, solution: &Solution) -> BTreeMap<ParamId, u32> {
    let mut rows: BTreeMap<ParamId, u32> = BTreeMap::new();
    for (op, _) in program.ops(1.0) {
        let (OpKind::Store { dst, .. }, Some(Choice::Bulk(bulk))) = (&op.kind, solution.choices.get(&op.id))
        else {
            continue;
        };
        let (Base::Global(param), Some(extent)) = (dst.base, bulk.extents.first()) else { continue };
        let bytes = extent * program.base_dtype(dst.base).map_or(0, DType::bits) / 8;
        rows.entry(param).and_modify(|row| *row = (*row).min(bytes)).or_insert(bytes);
    }
    rows
}

/// Returns the bytes that DRAM moves at least: each tensor of known extents once if it is read, and once, times a factor, if it is
/// written.
fn moved(
    program: &TileProgram,
    lookup: &dyn Fn(&Symbol) -> Option<i64>,
    factor: &dyn Fn(ParamId) -> f64,
) -> f64 {
    let directions = directions(program);
    let of = |(number, param): (usize, &Param)| match param {
        Param::Tensor(tensor) => {
            let id = ParamId(number as u32);
            let Directions { read, written } = directions.get(&id).copied().unwrap_or_default();
            let extents = tensor.shape.iter().map(|extent| extent.eval(lookup).unwrap_or(0) as f64);
            let bytes = extents.product::<f64>() * f64::from(tensor.dtype.bits()) / 8.0;
            bytes * (f64::from(u8::from(read)) + f64::from(u8::from(written)) * factor(id))
        }
        Param::Int { .. } | Param::Float { .. } => 0.0,
    };
    program.params.iter().enumerate().map(of).sum()
}

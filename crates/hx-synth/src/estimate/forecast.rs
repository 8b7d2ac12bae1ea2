//! The estimate of a whole launch whose dimensions are known: the waves of its blocks, and the traffic of its tensors.
//!
//! A wave takes the cycles of a block, of which the loops have the numbers of rounds that the dimensions determine. A launch
//! cannot end before DRAM has moved each tensor once. A ring of few stages exposes the latency of its copies. Two limits that are
//! close to each other cost more than either alone ([`together`]). Not modelled: what the L2 cache keeps from one tile to the next,
//! and blocks that have less to do than the first one.

use std::collections::BTreeMap;

use hx_index::Symbol;
use hx_tile::{LoopEstimate, Param, PipeId, Resource, Solution, TileProgram};

use super::{Estimator, values};

/// The forecast of a launch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Forecast {
    /// The cycles of the launch.
    pub cycles: f64,
    /// The cycles of the first block.
    pub block: f64,
    pub blocks: i64,
    pub waves: i64,
    /// The registers that the tensors and addresses of a thread need beyond those that it has; 0 if they fit.
    pub beyond: i64,
    /// The registers that the tensors of a thread alone need beyond those that it has; 0 if they fit.
    pub spilled: i64,
    /// The bytes of all tensors, each counted once.
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

/// Forecasts a launch of a solved program. `known` has the dimensions, strides and integers of the launch. Returns `None` if they
/// do not determine the number of blocks.
pub fn forecast(
    program: &TileProgram,
    solution: &Solution,
    known: &BTreeMap<Symbol, i64>,
) -> Option<Forecast> {
    let target = program.target;
    let start = values(program, known.iter().map(|(symbol, value)| (symbol.clone(), *value)));
    let estimator = Estimator { program, solution, start: start.clone() };
    let estimate = estimator.estimate();
    let launch = estimate.launch?;
    let exposed = estimate.loops.iter().map(|found| exposed(&estimator, found)).fold(0.0, f64::max);
    let alone = launch.cycles + exposed * launch.waves as f64;
    let over = |[needed, has]: [i64; 2]| needed - has;
    let beyond = estimate.roles.iter().map(|role| over(role.registers)).max().unwrap_or(0).max(0);
    let spilled = (beyond - target.costs().role_registers).max(0);
    let bytes = tensors(program, &|symbol| start.get(symbol).copied());
    let dram = bytes / target.costs().dram_bytes;
    let (resource, most) = estimate.resources.most();
    let resident = (launch.at_once as f64 / f64::from(target.costs().multiprocessors)).max(1.0);
    let bound = if dram > alone {
        Bottleneck::Dram
    } else if most * resident * launch.waves as f64 >= BUSY * alone {
        Bottleneck::Resource(resource)
    } else {
        Bottleneck::Blocks
    };
    let (blocks, waves) = (launch.blocks, launch.waves);
    let (cycles, block) = (together(alone, dram), estimate.block + exposed);
    Some(Forecast {
        cycles,
        block,
        blocks,
        waves,
        beyond,
        spilled,
        bytes,
        bound,
        clock: target.costs().clock,
    })
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

/// Returns the bytes of the tensors whose extents are known.
fn tensors(program: &TileProgram, lookup: &dyn Fn(&Symbol) -> Option<i64>) -> f64 {
    let of = |param: &Param| match param {
        Param::Tensor(tensor) => {
            let extents = tensor.shape.iter().map(|extent| extent.eval(lookup).unwrap_or(0) as f64);
            extents.product::<f64>() * f64::from(tensor.dtype.bits()) / 8.0
        }
        Param::Int { .. } | Param::Float { .. } => 0.0,
    };
    program.params.iter().map(of).sum()
}

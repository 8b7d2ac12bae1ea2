//! Launches a program: matches arguments with parameters, runs the blocks in parallel, those of a cluster together if they reach
//! each other, and merges their changes in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use hx_index::{EvalError, Expr, Symbol};
use hx_thread::{LogContents, LogPlan, Param, Stmt, ThreadProgram};
use rayon::prelude::*;

use crate::block::Block;
use crate::cluster::Cluster;
use crate::code::Code;
use crate::compile::compile;
use crate::config::Config;
use crate::counter::{expect_reset, expect_zero};
use crate::error::{Fault, SimError};
use crate::global::Tensor;
use crate::grid::block_index;
use crate::history::{Clash, History, merge};
use crate::log::{BlockLog, LaunchLog};
use crate::overlay::Overlay;
use crate::report::{Counters, Report};
use crate::told::{Left, Told};
use crate::witness::{BlockWitness, Witness};

/// Number of blocks that run before their changes are merged. It bounds the memory for the changes.
const BATCH: u64 = 256;

/// A kernel argument.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    Tensor {
        /// Packed little-endian elements from offset 0 on. The run changes them in place.
        bytes: Vec<u8>,
        shape: Vec<i64>,
        /// In elements; never negative.
        stride: Vec<i64>,
        /// The largest power of two, in bytes, that divides the simulated address.
        base_align: u32,
    },
    Int(i64),
    Float(f64),
}

/// Reports whether runs of a program with different seeds can differ: it has roles, copies that signal a barrier, or asynchronous
/// products.
pub fn depends_on_seed(program: &ThreadProgram) -> bool {
    let mut found = !program.barriers.is_empty();
    hx_thread::visit(&program.body, &mut |stmt| {
        found |= matches!(stmt, Stmt::Roles(_) | Stmt::MultiplyAsync(_));
    });
    found
}

/// Runs every thread of every block. `symbols` binds dimensions and strides. Integer arguments also bind their own names.
///
/// Changes tensors that the program may write in place. If a block fails, these tensors hold the writes of the blocks merged
/// before it.
///
/// # Errors
/// The fault of the first failing block in the order of the grid, x fastest, or of the first failing cluster; or an error of the launch or of the program.
pub fn run(
    program: &ThreadProgram,
    symbols: &BTreeMap<Symbol, i64>,
    arguments: &mut [Argument],
    config: &Config<'_>,
) -> Result<Report, SimError> {
    run_with_log(program, symbols, arguments, config, &mut LogContents::default())
}

/// As [`run`]; `log` becomes what the blocks printed and asserted, up to the first error if the run ends with one. A failed
/// assertion does not end the run.
///
/// # Errors
/// As [`run`].
pub fn run_with_log(
    program: &ThreadProgram,
    symbols: &BTreeMap<Symbol, i64>,
    arguments: &mut [Argument],
    config: &Config<'_>,
    log: &mut LogContents,
) -> Result<Report, SimError> {
    let Compiled { code, grid, symbols } = compiled(program, symbols, arguments)?;
    let lookup = |s: &Symbol| symbols.get(s).copied();
    let mut tensors = Vec::new();
    let mut told = LaunchLog::new(LogPlan::new(program, grid, &lookup));
    let left = Left::default();
    let launched = take_tensors(program, arguments, &lookup, &mut tensors)
        .and_then(|()| expect_zero(&code, &tensors))
        .and_then(|()| run_grid((&code, &left), grid, &mut tensors, config, &mut told));
    *log = told.contents(program);
    for (argument, tensor) in arguments.iter_mut().zip(tensors) {
        if let (Argument::Tensor { bytes, .. }, Some(tensor)) = (argument, tensor) {
            *bytes = tensor.bytes;
        }
    }
    launched
}

/// A program compiled for one launch.
pub(crate) struct Compiled {
    pub(crate) code: Code,
    pub(crate) grid: [u64; 3],
    /// The symbols of the launch, with the integer arguments and the grid.
    pub(crate) symbols: BTreeMap<Symbol, i64>,
}

/// Compiles a program for a launch with these arguments.
pub(crate) fn compiled(
    program: &ThreadProgram,
    symbols: &BTreeMap<Symbol, i64>,
    arguments: &[Argument],
) -> Result<Compiled, SimError> {
    let mut symbols = symbols.clone();
    let numbers = bind_scalars(program, arguments, &mut symbols)?;
    let lookup = |s: &Symbol| symbols.get(s).copied();
    for r in &program.requires {
        if !r.cond.eval(&lookup).map_err(unplaced)? {
            return Err(Fault::Requirement(r.text.clone()).into());
        }
    }
    let grid = grid(program, &lookup)?;
    symbols.extend((0u8..).zip(grid).map(|(axis, blocks)| (Symbol::GridDim(axis), blocks as i64)));
    let code = compile(program, &symbols, &numbers)?;
    if code.communicates && code.cluster.iter().product::<u32>() > 1 {
        let text = "the blocks of a cluster exchange data and make atomic accesses whose results or order count, which the \
                    simulator does not run: try a GPU";
        return argument_error(text.to_owned());
    }
    if let Some((blocks, size)) =
        grid.iter().zip(code.cluster).find(|(blocks, size)| *blocks % u64::from(*size) != 0)
    {
        return argument_error(format!("a grid of {blocks} blocks, of which clusters take {size}"));
    }
    Ok(Compiled { code, grid, symbols })
}

fn unplaced(e: EvalError) -> SimError {
    Fault::Eval(e).into()
}

fn argument_error<T>(text: String) -> Result<T, SimError> {
    Err(Fault::Argument(text).into())
}

/// Binds integer arguments as symbols, and returns every number by its name.
fn bind_scalars(
    program: &ThreadProgram,
    arguments: &[Argument],
    symbols: &mut BTreeMap<Symbol, i64>,
) -> Result<BTreeMap<String, f64>, SimError> {
    let mut numbers = BTreeMap::new();
    if arguments.len() != program.params.len() {
        let (found, want) = (arguments.len(), program.params.len());
        return argument_error(format!("{found} arguments where `{}` takes {want}", program.name));
    }
    for (param, argument) in program.params.iter().zip(arguments) {
        match (param, argument) {
            (Param::Tensor(_), Argument::Tensor { .. }) => {}
            (Param::Tensor(t), _) => return argument_error(format!("a number for the tensor `{}`", t.name)),
            (Param::Scalar { name, .. }, Argument::Tensor { .. }) => {
                return argument_error(format!("a tensor for the number `{name}`"));
            }
            (Param::Scalar { name, dtype }, Argument::Float(_)) if !dtype.is_float() => {
                return argument_error(format!("a fraction for `{name}`, which is {dtype}"));
            }
            (Param::Scalar { name, .. }, Argument::Int(value)) => {
                symbols.entry(Symbol::Scalar(name.as_str().into())).or_insert(*value);
                numbers.insert(name.clone(), *value as f64);
            }
            (Param::Scalar { name, .. }, Argument::Float(value)) => {
                numbers.insert(name.clone(), *value);
            }
        }
    }
    Ok(numbers)
}

fn grid(program: &ThreadProgram, lookup: &dyn Fn(&Symbol) -> Option<i64>) -> Result<[u64; 3], SimError> {
    if program.grid.len() > 3 {
        return Err(
            Fault::Malformed(format!("a grid of {} axes where there are 3", program.grid.len())).into()
        );
    }
    let mut grid = [1; 3];
    for (blocks, axis) in grid.iter_mut().zip(&program.grid) {
        let value = axis.eval(lookup).map_err(unplaced)?;
        // 2³¹ - 1 is the hardware's limit along x. The limits along y and z are lower.
        if !(0..=i64::from(i32::MAX)).contains(&value) {
            return argument_error(format!("a grid of {value} blocks, from `{axis}`"));
        }
        *blocks = value as u64;
    }
    let total = grid.iter().try_fold(1u64, |p, b| p.checked_mul(*b)).filter(|t| *t < u64::from(u32::MAX));
    match total {
        Some(_) => Ok(grid),
        None => Err(Fault::TooManyBlocks { blocks: grid }.into()),
    }
}

/// Moves the bytes of the arguments into tensors. On an error, `out` holds the tensors made so far.
pub(crate) fn take_tensors(
    program: &ThreadProgram,
    arguments: &mut [Argument],
    lookup: &dyn Fn(&Symbol) -> Option<i64>,
    out: &mut Vec<Option<Tensor>>,
) -> Result<(), SimError> {
    for (param, argument) in program.params.iter().zip(arguments) {
        let (Param::Tensor(t), Argument::Tensor { bytes, shape, stride, base_align }) = (param, argument)
        else {
            out.push(None);
            continue;
        };
        if !base_align.is_power_of_two() || *base_align < t.align {
            let text = format!("`{}` is aligned to {base_align} bytes where {} are wanted", t.name, t.align);
            return argument_error(text);
        }
        let evaluate = |v: &[Expr]| v.iter().map(|e| e.eval(lookup)).collect::<Result<Vec<_>, _>>();
        let want = (evaluate(&t.shape).map_err(unplaced)?, evaluate(&t.stride).map_err(unplaced)?);
        if *shape != want.0 || strides_differ(shape, stride, &want.1) {
            let text =
                format!("`{}` is {shape:?} : {stride:?} where {:?} : {:?} is wanted", t.name, want.0, want.1);
            return argument_error(text);
        }
        let held = std::mem::take(bytes);
        let made = Tensor::new(&t.name, t.dtype, t.mutable, want, i64::from(*base_align), held);
        match made {
            Ok(tensor) => out.push(Some(tensor)),
            Err((text, held)) => {
                *bytes = held;
                return argument_error(text);
            }
        }
    }
    Ok(())
}

/// Compares strides. The stride of a dimension with a single element does not matter, nor do the strides of an empty tensor.
fn strides_differ(shape: &[i64], found: &[i64], want: &[i64]) -> bool {
    found.len() != want.len()
        || !shape.contains(&0)
            && found.iter().zip(want).zip(shape).any(|((f, w), extent)| *extent > 1 && f != w)
}

/// The logs of blocks that ran together to their end or to an error, and their outcomes.
struct Ran {
    logs: Vec<BlockLog>,
    outcome: Result<Vec<Outcome>, SimError>,
}

/// The effects of one block.
struct Outcome {
    /// Its number in the grid.
    number: u64,
    overlays: Vec<Overlay>,
    counters: Vec<Counters>,
    barriers: u64,
    /// How many numbers it drew from each counter.
    drawn: Vec<u64>,
    told: Told,
    witness: Option<Box<BlockWitness>>,
}

fn run_grid(
    (code, left): (&Code, &Left),
    grid: [u64; 3],
    tensors: &mut [Option<Tensor>],
    config: &Config<'_>,
    log: &mut LaunchLog,
) -> Result<Report, SimError> {
    let blocks = grid[0] * grid[1] * grid[2];
    let together = u64::from(code.cluster.iter().product::<u32>());
    let (mut report, drawn) = run_blocks((code, left), grid, blocks / together, tensors, config, log)?;
    report.blocks = blocks;
    expect_reset(code, &drawn)?;
    Ok(report)
}

/// Runs the first `runs` blocks or clusters of a grid. Returns also how many numbers they drew from each counter.
pub(crate) fn run_blocks(
    (code, left): (&Code, &Left),
    grid: [u64; 3],
    runs: u64,
    tensors: &mut [Option<Tensor>],
    config: &Config<'_>,
    log: &mut LaunchLog,
) -> Result<(Report, Vec<u64>), SimError> {
    let mut histories: Vec<History> = tensors.iter().map(|_| History::default()).collect();
    let mut totals = vec![Counters::default(); code.sites.len()];
    let mut drawn = vec![0; code.counters.len()];
    let mut report = Report::default();
    let watched = |param: usize| tensors.get(param).and_then(Option::as_ref);
    report.witness = config.watch.map(|param| Box::new(Witness::new(code, grid, watched(param))));
    let together = u64::from(code.cluster.iter().product::<u32>());
    let mut first = 0;
    while first < runs {
        // A block that communicates finds memory as the blocks before it left it.
        let batch = if code.communicates { 1 } else { BATCH.div_ceil(together) };
        let last = (first + batch).min(runs);
        for Ran { logs, outcome } in run_batch((code, left), grid, first..last, tensors, config, log.plan()) {
            logs.iter().for_each(|told| log.merge(&code.log, told));
            for Outcome { number, overlays, counters, barriers, drawn: here, told, witness } in outcome? {
                if let (Some(all), Some(here)) = (&mut report.witness, witness) {
                    all.merge(number, *here);
                }
                drawn.iter_mut().zip(here).for_each(|(all, here)| *all += here);
                report.barriers += barriers;
                for (total, here) in totals.iter_mut().zip(counters) {
                    *total += here;
                }
                for ((tensor, history), overlay) in tensors.iter_mut().zip(&mut histories).zip(overlays) {
                    let Some(tensor) = tensor else { continue };
                    merge(tensor, history, overlay, (number as u32, &told), config.check_races).map_err(
                        |clash| {
                            block_race(
                                code,
                                tensor,
                                clash,
                                [number, u64::from(clash.other.block)].map(|n| block_index(grid, n)),
                            )
                        },
                    )?;
                }
            }
        }
        first = last;
    }
    for (site, counters) in code.sites.iter().zip(totals) {
        match site.op {
            Some(op) => *report.ops.entry(op).or_default() += counters,
            None => report.other += counters,
        }
    }
    Ok((report, drawn))
}

/// Returns the outcomes of some runs, each of a block or of a cluster, in their order, up to and including the first error.
fn run_batch(
    (code, left): (&Code, &Left),
    grid: [u64; 3],
    runs: std::ops::Range<u64>,
    tensors: &[Option<Tensor>],
    config: &Config<'_>,
    plan: &LogPlan,
) -> Vec<Ran> {
    // Runs after a failed one need not happen, because the caller gets the first error only.
    let failed = AtomicU32::new(u32::MAX);
    let ran: Vec<Option<Ran>> = (runs.start as u32..runs.end as u32)
        .into_par_iter()
        .map(|number| {
            if number > failed.load(Ordering::Relaxed) {
                return None;
            }
            let ran = run_together((code, left), grid, u64::from(number), tensors, config, plan);
            if ran.outcome.is_err() {
                failed.fetch_min(number, Ordering::Relaxed);
            }
            Some(ran)
        })
        .collect();
    let is_cancelled = |ran: &Ran| matches!(ran.outcome, Err(SimError { fault: Fault::Cancelled, .. }));
    let cancelled = ran.iter().flatten().any(is_cancelled);
    let mut ran: Vec<Ran> = ran.into_iter().map_while(|ran| ran).collect();
    if let Some(last) = ran.last_mut().filter(|_| cancelled) {
        // It is not deterministic which block notices the cancellation first, so the error carries no place.
        last.outcome = Err(Fault::Cancelled.into());
    }
    ran
}

/// Runs the blocks that run together as number `number`.
fn run_together(
    (code, left): (&Code, &Left),
    grid: [u64; 3],
    number: u64,
    tensors: &[Option<Tensor>],
    config: &Config<'_>,
    plan: &LogPlan,
) -> Ran {
    let members = members(code.cluster, grid, number);
    if (config.cancel)() {
        let logs = members.iter().map(|block| BlockLog::new(&code.log, plan, *block));
        return Ran { logs: logs.collect(), outcome: Err(Fault::Cancelled.into()) };
    }
    let mut cluster = cluster((code, left), (grid, &members), tensors, config, plan);
    let result = cluster.run();
    let (mut logs, mut outcomes) = (Vec::new(), Vec::new());
    for (number, block) in members.into_iter().zip(cluster.blocks) {
        let Block { overlays, counters, barriers, log, tickets, told, witness, .. } = block;
        let drawn = tickets.drawn().collect();
        logs.push(log);
        outcomes.push(Outcome { number, overlays, counters, barriers, drawn, told, witness });
    }
    Ran { logs, outcome: result.map(|()| outcomes) }
}

/// Makes the blocks with these numbers, before their first step.
pub(crate) fn cluster<'a>(
    (code, left): (&'a Code, &'a Left),
    (grid, members): ([u64; 3], &[u64]),
    tensors: &'a [Option<Tensor>],
    config: &'a Config<'a>,
    plan: &LogPlan,
) -> Cluster<'a> {
    let new = |(rank, block): (usize, &u64)| {
        let (log, told) = (BlockLog::new(&code.log, plan, *block), (left, Told::new(*block as u32)));
        let witness = |param| Box::new(BlockWitness::new(param, config.follow, *block as u32));
        let witness = config.watch.map(witness);
        Block::new(code, tensors, config, (rank, block_index(grid, *block)), log, told, witness)
    };
    Cluster::new(members.iter().enumerate().map(new).collect())
}

/// Returns the numbers, in the grid, of the blocks of a cluster in the order of their ranks. A block alone is a cluster of one.
pub(crate) fn members(cluster: [u32; 3], grid: [u64; 3], number: u64) -> Vec<u64> {
    let [x, y, z] = cluster.map(u64::from);
    let first = block_index([grid[0] / x, grid[1] / y, grid[2] / z], number).map(u64::from);
    let rank = |rank: u64| {
        let [i, j, k] = block_index([x, y, z], rank).map(u64::from);
        first[0] * x + i + grid[0] * (first[1] * y + j + grid[1] * (first[2] * z + k))
    };
    (0..x * y * z).map(rank).collect()
}

fn block_race(code: &Code, tensor: &Tensor, clash: Clash, [here, other]: [[u32; 3]; 2]) -> SimError {
    let element = tensor.element_of(clash.byte);
    let fault = Fault::BlockRace {
        tensor: tensor.name.clone(),
        element,
        coord: tensor.coordinate(element),
        deed: clash.deed,
        earlier: Box::new(code.sites[clash.other.site as usize].place(Some(other), None)),
        earlier_deed: clash.other_deed,
        in_flight: clash.in_flight,
    };
    let place = code.sites[clash.site as usize].place(Some(here), None);
    SimError { fault, place: Some(Box::new(place)) }
}

//! Launches a program: matches arguments with parameters, runs the blocks in parallel, those of a cluster together if they reach
//! each other, and merges their changes in order. Blocks that see what others did take turns ([`crate::schedule`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use hx_dtype::DType;
use hx_index::{EvalError, Expr, Symbol};

use hx_thread::{Control, Leaf, LogContents, LogPlan, Param, Stmt, ThreadProgram, Transfer};
use rayon::prelude::*;

use crate::code::Code;
use crate::compile::compile;
use crate::compile::instruction::communicates;
use crate::config::Config;
use crate::counter::{expect_reset, expect_zero};
use crate::error::{Fault, SimError};
use crate::global::Tensor;
use crate::grid::{Permutation, block_index, members};
use crate::history::{Clash, History, merge};
use crate::log::{BlockLog, LaunchLog};
use crate::overlay::Overlay;
use crate::ran::{Outcome, Ran, cluster, outcome_of};
use crate::report::{Counters, OldLoad, Report};
use crate::schedule::{Grid, Launch};
use crate::witness::Witness;
use crate::world::Old;

/// Number of blocks that run before their changes are merged. It bounds the memory for the changes.
const BATCH: u64 = 256;

/// A kernel argument.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    Tensor {
        /// Packed little-endian elements from offset 0 on. The run changes them in place.
        bytes: Vec<u8>,
        shape: Vec<i64>,
        /// The stride of each dimension, in elements; never negative.
        stride: Vec<i64>,
        /// The largest power of two, in bytes, that divides the simulated address.
        base_align: u32,
    },
    /// The tensor of the parameter at this position, which the program may write. The program only loads from this one.
    Same(usize),
    Int(i64),
    Float(f64),
}

/// Reports whether runs of a program with different seeds can differ: it has roles, barriers in shared memory, asynchronous
/// products, atomic updates of floats, bulk stores that add, or atomic accesses by which blocks see what others did.
pub fn depends_on_seed(program: &ThreadProgram) -> bool {
    let mut found = !program.barriers.is_empty();
    hx_thread::visit(&program.body, &mut |stmt| {
        found |= matches!(stmt, Stmt::Control(Control::Roles(_)) | Stmt::Leaf(Leaf::MultiplyAsync(_)));
        if let Stmt::Leaf(Leaf::Transfer(Transfer { row, atomic: Some(used), address, .. })) = stmt {
            let sums = program.memory_dtype(address.memory).is_some_and(DType::is_float);
            found |= sums || communicates(row, used);
        }
        if let Stmt::Leaf(Leaf::BulkStore(store)) = stmt {
            found |= !store.row.adds.is_empty();
        }
    });
    found
}

/// Runs every thread of every block. `symbols` binds dimensions and strides. Integer arguments also bind their own names.
///
/// Changes tensors that the program may write in place. If a block fails, these tensors hold the writes of the blocks merged
/// before it.
///
/// # Errors
/// The fault of the first failing block or cluster in the order that [`Config::seed`] selects (with 0 that of the grid, x
/// fastest), or an error of the launch or of the program.
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
    let mut launch_log = LaunchLog::new(LogPlan::new(program, grid, &lookup));
    let launched = take_tensors(program, arguments, &lookup, &mut tensors)
        .and_then(|()| expect_zero(&code, &tensors))
        .and_then(|()| run_grid(&code, &mut tensors, config, &mut launch_log));
    *log = launch_log.contents(program);
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
///
/// # Errors
/// If the arguments do not fit the parameters, a requirement does not hold, the grid is too large or no multiple of the
/// cluster, or the program is malformed.
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
    let same = |(at, argument): (usize, &Argument)| match argument {
        Argument::Same(other) => Some((at, *other)),
        Argument::Tensor { .. } | Argument::Int(_) | Argument::Float(_) => None,
    };
    let same = arguments.iter().enumerate().filter_map(same).collect();
    let code = compile(program, &symbols, &numbers, &same)?;
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
///
/// # Errors
/// If the arguments are not those of the parameters.
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
            (Param::Tensor(_), Argument::Tensor { .. } | Argument::Same(_)) => {}
            (Param::Tensor(t), _) => return argument_error(format!("a number for the tensor `{}`", t.name)),
            (Param::Scalar { name, .. }, Argument::Tensor { .. } | Argument::Same(_)) => {
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

/// Moves the bytes of the arguments into tensors: one entry a parameter, `None` for a scalar and for the tensor of another
/// parameter. On an error, `out` holds the tensors made so far.
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
            let text =
                format!("`{}` is aligned to {base_align} bytes where {} are expected", t.name, t.align);
            return argument_error(text);
        }
        let evaluate = |v: &[Expr]| v.iter().map(|e| e.eval(lookup)).collect::<Result<Vec<_>, _>>();
        let want = (evaluate(&t.shape).map_err(unplaced)?, evaluate(&t.stride).map_err(unplaced)?);
        if *shape != want.0 || strides_differ(shape, stride, &want.1) {
            let text = format!(
                "`{}` is {shape:?} : {stride:?} where {:?} : {:?} is expected",
                t.name, want.0, want.1
            );
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

/// The counters, draws and recorded accesses of all blocks that have been added so far.
struct Totals {
    counters: Vec<Counters>,
    drawn: Vec<u64>,
    report: Report,
}

impl Totals {
    fn new(code: &Code, tensors: &[Option<Tensor>], config: &Config<'_>) -> Totals {
        let mut report = Report::default();
        let watched = |param: usize| tensors.get(param).and_then(Option::as_ref);
        report.witness = config.watch.map(|param| Box::new(Witness::new(code, code.grid, watched(param))));
        report.blocks = code.grid.iter().product();
        let counters = vec![Counters::default(); code.sites.len()];
        Totals { counters, drawn: vec![0; code.counters.len()], report }
    }

    /// Adds the effects of a block, and returns its overlays.
    fn add(&mut self, outcome: Outcome) -> Vec<Overlay> {
        let Outcome { number, overlays, counters, barriers, drawn, witness } = outcome;
        if let (Some(all), Some(here)) = (&mut self.report.witness, witness) {
            all.merge(number, *here);
        }
        self.drawn.iter_mut().zip(drawn).for_each(|(all, here)| *all += here);
        self.report.barriers += barriers;
        self.counters.iter_mut().zip(counters).for_each(|(total, here)| *total += here);
        overlays
    }

    fn finish(mut self, code: &Code) -> Result<Report, SimError> {
        for (site, counters) in code.sites.iter().zip(self.counters) {
            match site.op {
                Some(op) => *self.report.ops.entry(op).or_default() += counters,
                None => self.report.other += counters,
            }
        }
        expect_reset(code, &self.drawn)?;
        Ok(self.report)
    }
}

fn run_grid(
    code: &Code,
    tensors: &mut [Option<Tensor>],
    config: &Config<'_>,
    log: &mut LaunchLog,
) -> Result<Report, SimError> {
    let together = u64::from(code.cluster.iter().product::<u32>());
    match code.communicates {
        true => run_sharing(code, tensors, config, log),
        false => run_blocks(code, code.grid.iter().product::<u64>() / together, tensors, config, log),
    }
}

/// Runs the blocks of a grid whose atomic accesses let them see what others did, in one memory.
///
/// # Errors
/// The first fault.
fn run_sharing(
    code: &Code,
    tensors: &mut [Option<Tensor>],
    config: &Config<'_>,
    log: &mut LaunchLog,
) -> Result<Report, SimError> {
    let mut totals = Totals::new(code, tensors, config);
    let grid = Grid::new(Launch { code, tensors, config, plan: log.plan() }, None);
    let (ran, common, outcome) = grid.run();
    for Ran { logs, outcome } in ran {
        logs.iter().for_each(|block| log.merge(&code.log, block));
        outcome?.into_iter().for_each(|outcome| drop(totals.add(outcome)));
    }
    outcome?;
    if let Some(world) = &common.world {
        totals.report.old = world.old().iter().map(|old| old_load(code, tensors, *old)).collect();
    }
    for (tensor, overlay) in tensors.iter_mut().zip(common.overlays) {
        if let Some(tensor) = tensor {
            // The blocks have checked for races during the run.
            let merged = merge(tensor, &mut History::default(), overlay, 0, false);
            merged.map_err(|clash| block_race(code, tensor, clash, [[0; 3]; 2]))?;
        }
    }
    totals.finish(code)
}

fn old_load(code: &Code, tensors: &[Option<Tensor>], old: Old) -> OldLoad {
    let place = |(site, block): (u32, u32)| {
        code.sites[site as usize].place(Some(block_index(code.grid, u64::from(block))), None)
    };
    let (mut tensor, mut element, mut coord) = (String::new(), 0, None);
    if let Some(found) = tensors.get(old.param).and_then(Option::as_ref) {
        element = found.element_of(old.byte);
        (tensor, coord) = (found.name.clone(), found.coordinate(element));
    }
    let acquires = code.sites[old.by.0 as usize].acquires;
    OldLoad { tensor, element, coord, load: place(old.by), acquires, write: place(old.next) }
}

/// Runs the blocks or clusters of a grid, of which no block sees what others do.
///
/// # Errors
/// The first fault, and a race between blocks.
fn run_blocks(
    code: &Code,
    runs: u64,
    tensors: &mut [Option<Tensor>],
    config: &Config<'_>,
    log: &mut LaunchLog,
) -> Result<Report, SimError> {
    let mut histories: Vec<History> = tensors.iter().map(|_| History::default()).collect();
    let mut totals = Totals::new(code, tensors, config);
    let together = u64::from(code.cluster.iter().product::<u32>());
    let order = Permutation::new(config.seed, runs);
    let mut first = 0;
    while first < runs {
        let last = (first + BATCH.div_ceil(together)).min(runs);
        for Ran { logs, outcome } in run_batch(code, order, first..last, tensors, config, log.plan()) {
            logs.iter().for_each(|block| log.merge(&code.log, block));
            for outcome in outcome? {
                let number = outcome.number;
                let overlays = totals.add(outcome);
                for ((tensor, history), overlay) in tensors.iter_mut().zip(&mut histories).zip(overlays) {
                    let Some(tensor) = tensor else { continue };
                    let merged = merge(tensor, history, overlay, number as u32, config.check_races);
                    merged.map_err(|clash| {
                        let blocks = [number, u64::from(clash.other.block)];
                        block_race(code, tensor, clash, blocks.map(|n| block_index(code.grid, n)))
                    })?;
                }
            }
        }
        first = last;
    }
    totals.finish(code)
}

/// Returns the outcomes of the runs at some positions of the order, each of a block or of a cluster, in their order, up to and
/// including the first error.
fn run_batch(
    code: &Code,
    order: Permutation,
    positions: std::ops::Range<u64>,
    tensors: &[Option<Tensor>],
    config: &Config<'_>,
    plan: &LogPlan,
) -> Vec<Ran> {
    // Runs after a failed one need not happen, because the caller gets the first error only.
    let failed = AtomicU32::new(u32::MAX);
    let ran: Vec<Option<Ran>> = (positions.start as u32..positions.end as u32)
        .into_par_iter()
        .map(|position| {
            if position > failed.load(Ordering::Relaxed) {
                return None;
            }
            let ran = run_together(code, order.at(u64::from(position)), tensors, config, plan);
            if ran.outcome.is_err() {
                failed.fetch_min(position, Ordering::Relaxed);
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

/// Runs the block, or the cluster, with this number among the runs of the grid.
fn run_together(
    code: &Code,
    number: u64,
    tensors: &[Option<Tensor>],
    config: &Config<'_>,
    plan: &LogPlan,
) -> Ran {
    let members = members(code.cluster, code.grid, number);
    if (config.cancel)() {
        let logs = members.iter().map(|block| BlockLog::new(&code.log, plan, *block));
        return Ran { logs: logs.collect(), outcome: Err(Fault::Cancelled.into()) };
    }
    let mut cluster = cluster(code, (number, &members), tensors, config, plan);
    let result = cluster.run();
    let ran = outcome_of(cluster);
    Ran { outcome: result.and(ran.outcome), ..ran }
}

fn block_race(code: &Code, tensor: &Tensor, clash: Clash, [here, other]: [[u32; 3]; 2]) -> SimError {
    let element = tensor.element_of(clash.byte);
    let fault = Fault::BlockRace {
        tensor: tensor.name.clone(),
        element,
        coord: tensor.coordinate(element),
        mode: clash.mode,
        earlier: Box::new(code.sites[clash.other.site as usize].place(Some(other), None)),
        earlier_mode: clash.other_mode,
        in_flight: false,
        narrow: false,
    };
    let place = code.sites[clash.site as usize].place(Some(here), None);
    SimError { fault, place: Some(Box::new(place)) }
}

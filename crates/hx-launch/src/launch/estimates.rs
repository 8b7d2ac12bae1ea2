//! The cycles of timed launches, as measured and by the cost model.
//!
//! Cycles are computed from a time and the clock rate, which a small kernel measures in turns with the timed works. A measured
//! time includes a fixed part outside of the kernel, such as the events around it. The small kernel measures its own duration
//! on the device, so the difference to its measured time is this part.

use hx_calibrate::{CLOCK_SYMBOL, CLOCK_TEXT, Clock};
use std::cell::RefCell;
use std::collections::BTreeMap;

use hx_compile::{Db, Forecast, Instance, Known, forecast_of_launch};
use hx_host::dense::Numbers;
use hx_host::device::LaunchError;
use hx_index::Symbol;
use hx_tile::ParamId;
use hx_worker::{Arg, Buffer, CompileJob, Compiled, Launch, Step, Timing, Work};

use super::instance::Checked;
use super::{Bound, BoundParam, BoundTensor, Launcher, internal};
use crate::machine::Gpu;

/// The clock while works were timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// Clock cycles per microsecond.
    per_us: f64,
    /// The microseconds of a measured time that lie outside of the kernel.
    around_us: f64,
}

impl Rate {
    /// Returns the cycles of a kernel from the time of its run in microseconds.
    pub(super) fn cycles(&self, us: f64) -> f64 {
        ((us - self.around_us) * self.per_us).max(0.0)
    }

    /// Returns billions of cycles a second.
    pub(super) fn clock(&self) -> f64 {
        self.per_us / 1e3
    }
}

/// The largest tensor whose integers an estimate reads, in elements: tables of starts, counts and pages.
const READ: usize = 1 << 20;

/// Returns the forecast of a launch, from its dimensions, its integers and the integers in its tensors; `None` if the cost model has
/// no estimate for the instance.
pub(super) fn launch<'db>(db: &'db dyn Db, checked: Checked<'db>, bound: &Bound) -> Option<Forecast> {
    of_instance(db, checked.get(), bound, &bound.symbols)
}

/// As [`launch`], of an instance that need not be checked, with other values of the launch's symbols.
pub(super) fn of_instance<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    bound: &Bound,
    symbols: &BTreeMap<Symbol, i64>,
) -> Option<Forecast> {
    let tables: RefCell<BTreeMap<ParamId, Option<Vec<i64>>>> = RefCell::default();
    let read = |param: ParamId, at: &[i64]| {
        let BoundParam::Tensor(tensor) = bound.params.get(param.0 as usize)? else { return None };
        let mut tables = tables.borrow_mut();
        let table = tables.entry(param).or_insert_with(|| integers(tensor));
        let index = at
            .iter()
            .zip(&tensor.shape)
            .try_fold(0, |index, (at, extent)| (0..*extent).contains(at).then_some(index * extent + at));
        table.as_ref()?.get(usize::try_from(index?).ok()?).copied()
    };
    forecast_of_launch(db, instance, Known { symbols, read: &read })
}

/// Returns the elements of a tensor of integers in the order of its dimensions; `None` for other tensors and large ones.
fn integers(bound: &BoundTensor) -> Option<Vec<i64>> {
    if bound.tensor.len() > READ || !bound.tensor.dtype().is_int() {
        return None;
    }
    match bound.tensor.numbers() {
        Ok(Numbers::Int(all)) => Some(all),
        Ok(Numbers::Float(_) | Numbers::Bool(_)) | Err(_) => None,
    }
}

/// Returns the dimensions and strides of a launch.
pub(super) fn dims(bound: &Bound) -> Vec<(String, i64)> {
    let dims = bound.symbols.iter().filter_map(|(symbol, value)| match symbol {
        Symbol::Dim(name) => Some((name.to_string(), *value)),
        _ => None,
    });
    dims.collect()
}

/// Returns the work that measures the clock.
pub(super) fn clock_work<'c>(gpu: &Gpu, code: &'c Compiled, sums: Buffer) -> Work<'c> {
    let launch = Launch {
        device: gpu.info.ordinal,
        cubin: &code.code,
        symbol: CLOCK_SYMBOL,
        grid: [1, 1, 1],
        cluster: [1, 1, 1],
        threads: 1,
        shared_bytes: 0,
        waits_for_previous: false,
        args: vec![Arg::Resident { buffer: sums, offset: 0 }],
    };
    Work { variants: vec![vec![Step::Launch(launch)]] }
}

impl Launcher<'_> {
    pub(super) fn clock_code(&self, gpu: &Gpu) -> Result<Compiled, LaunchError> {
        let job = CompileJob::of_kernel(CLOCK_TEXT, CLOCK_SYMBOL, self.target.name());
        self.compile_job(&gpu.cuda, &job)
    }

    /// Returns the clock rate. The clock kernel wrote its cycles and nanoseconds to `sums`; `timing` has its measured times.
    pub(super) fn clock_rate(
        &self,
        gpu: &Gpu,
        sums: Buffer,
        timing: Option<&Timing>,
    ) -> Result<Rate, LaunchError> {
        let cancelled = || self.stopped();
        let bytes = gpu.cuda.worker().download(sums, 0, sums.bytes(), &self.limits(&cancelled));
        let clock = Clock::read(&bytes.map_err(|error| self.worker_error(&error))?);
        let median = timing.and_then(Timing::median);
        let (Some(clock), Some(median)) = (clock, median) else {
            return Err(internal("the clock of the GPU was not measured".to_owned()));
        };
        let own_us = clock.nanoseconds as f64 / clock.launches as f64 * 1e-3;
        Ok(Rate { per_us: clock.rate(), around_us: (median * 1e3 - own_us).max(0.0) })
    }
}

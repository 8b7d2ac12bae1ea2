//! The cycles of timed launches, as measured and by the cost model.
//!
//! A time becomes cycles by the clock that a small kernel measures in turns with the others. The part of a time that is none of
//! the kernel's, such as the events around it, is the same for that small kernel, which knows how long it ran.

use hx_calibrate::{CLOCK_SYMBOL, CLOCK_TEXT, Clock};
use hx_compile::{Db, launch_cycles};
use hx_host::device::LaunchError;
use hx_index::Symbol;
use hx_worker::{Arg, Buffer, CompileJob, Compiled, Launch, Step, Timing, Work};

use super::instance::Checked;
use super::{Bound, Launcher, internal};
use crate::machine::Gpu;

/// The clock while works were timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// Cycles of a microsecond.
    per_us: f64,
    /// Microseconds of a time in which the kernel does not run.
    around_us: f64,
}

impl Rate {
    /// Returns the cycles of a kernel from the time of its run in microseconds.
    pub(super) fn cycles(&self, us: f64) -> f64 {
        ((us - self.around_us) * self.per_us).max(0.0)
    }
}

/// Returns the estimated cycles of a launch.
pub(super) fn launch<'db>(db: &'db dyn Db, checked: Checked<'db>, bound: &Bound) -> Option<f64> {
    launch_cycles(db, checked.get(), &dims(bound))
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

    /// Returns the clock from the sums that its kernel wrote, and from its own times.
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

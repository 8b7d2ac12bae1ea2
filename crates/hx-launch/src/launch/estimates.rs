//! The cycles of timed launches, as measured and by the cost model.
//!
//! Cycles are computed from a time and the clock rate, which a small kernel measures in turns with the timed works. A measured
//! time includes a fixed part outside of the kernel, such as the events around it. The small kernel measures its own duration
//! on the device, so the difference to its measured time is this part.

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
}

/// Returns the estimated cycles of a launch; `None` if the cost model has no estimate for the instance.
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

//! Records one launch of an evaluation, and hands it over to be stepped through.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hx_base::Diagnostic;
use hx_compile::{Instance, Solved, solved, thread_program, tile_program};
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_lower::Lowered;
use hx_sim::{Config, Playback, SimError};
use hx_thread::ThreadProgram;
use web_time::Instant;

use super::instance::{Checked, Errors};
use super::simulate::{arguments, room};
use super::{Bound, Launcher, stopped_at};

/// The launch to record.
pub struct Stepping<'a> {
    /// The kernel; any if it is `None`.
    pub kernel: Option<&'a str>,
    /// The position of the launch among those of the evaluation; the first of the kernel if it is `None`.
    pub launch: Option<usize>,
    /// The index of the block along each axis.
    pub block: [u32; 3],
    /// The bytes that the copies of the record may take, about.
    pub budget: usize,
    /// Once it is true, recording ends, and so does each move of the record.
    pub stop: &'a AtomicBool,
    /// Receives the record. It is called at most once.
    pub visit: &'a mut dyn FnMut(Recorded<'_, '_>),
}

impl std::fmt::Debug for Stepping<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stepping")
            .field("kernel", &self.kernel)
            .field("launch", &self.launch)
            .field("block", &self.block)
            .finish_non_exhaustive()
    }
}

/// A recorded launch.
pub struct Recorded<'r, 'p> {
    pub instance: Instance<'r>,
    pub lowered: &'r Lowered,
    pub solved: &'r Solved,
    pub program: &'r ThreadProgram,
    /// The index of the block along each axis.
    pub block: [u32; 3],
    pub prepared: &'p hx_sim::Prepared,
    pub playback: Playback<'p>,
    /// The fault that ended the run.
    pub found: Vec<Diagnostic>,
    /// The time that recording took.
    pub took: Duration,
}

impl std::fmt::Debug for Recorded<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorded")
            .field("block", &self.block)
            .field("found", &self.found)
            .field("took", &self.took)
            .finish_non_exhaustive()
    }
}

impl Stepping<'_> {
    /// Reports whether this is the launch to record.
    pub(super) fn wants(&self, nth: usize, kernel: &str) -> bool {
        self.launch.is_none_or(|launch| launch == nth) && self.kernel.is_none_or(|wanted| wanted == kernel)
    }
}

impl<'a> Launcher<'a> {
    /// Returns the launcher for a stepper: it also launches kernels that the static checks refuse.
    #[must_use]
    pub fn lenient(self) -> Launcher<'a> {
        Launcher { errors: Errors::Stepped, ..self }
    }

    /// Returns the launcher with a launch to record. That launch ends the evaluation.
    #[must_use]
    pub fn stepping(self, stepping: Stepping<'a>) -> Launcher<'a> {
        Launcher { stepping: Some(stepping), ..self }
    }

    /// Returns the last fault that the simulator found, and the position of its launch.
    pub fn faulted(&self) -> Option<&(usize, SimError)> {
        self.faulted.as_ref()
    }

    /// Reports whether a launch so far has a fault that a stepper leads to.
    pub fn has_fault(&self) -> bool {
        self.faulted.is_some() || self.refused.get()
    }

    /// Returns the number of launches so far.
    pub fn launches(&self) -> usize {
        self.launches
    }

    /// Records a launch and hands it over. Returns the error that ends the evaluation.
    pub(super) fn stepped(&mut self, checked: Checked<'a>, bound: &Bound) -> LaunchError {
        let Some(stepping) = self.stepping.take() else { return LaunchError::call(HostError::stopped()) };
        match self.recorded(checked, bound, stepping) {
            Ok(()) => LaunchError::call(HostError::stopped()),
            Err(error) => error,
        }
    }

    fn recorded(
        &self,
        checked: Checked<'a>,
        bound: &Bound,
        stepping: Stepping<'_>,
    ) -> Result<(), LaunchError> {
        let (db, instance) = (self.db, checked.get());
        let stopped = |stop: &hx_compile::Stop| stopped_at(db, instance, stop);
        let program = thread_program(db, instance).as_ref().map_err(stopped)?;
        let lowered = tile_program(db, instance).as_ref().map_err(stopped)?;
        let solved = solved(db, instance).as_ref().map_err(stopped)?;
        let arguments = arguments(bound)?;
        let stop = stepping.stop;
        let cancel = move || stop.load(Ordering::Relaxed);
        let config =
            Config { cancel: &cancel, seed: self.order, room: room(db, instance), ..Config::default() };
        let fault = |error: &SimError| self.fault(instance, error);
        let begin = Instant::now();
        let prepared = hx_sim::prepare(program, &bound.symbols, arguments, stepping.block);
        let prepared = prepared.map_err(|error| fault(&error))?;
        let playback = Playback::record(&prepared, &config, stepping.budget);
        let playback = playback.map_err(|error| fault(&error))?;
        let took = begin.elapsed();
        let found = match playback.outcome().map(fault) {
            Some(LaunchError::Found(found)) => found,
            _ => Vec::new(),
        };
        let prepared = &prepared;
        let block = stepping.block;
        (stepping.visit)(Recorded {
            instance,
            lowered,
            solved,
            program,
            block,
            prepared,
            playback,
            found,
            took,
        });
        Ok(())
    }
}

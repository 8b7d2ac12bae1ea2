//! The process that the engine belongs to.
//!
//! A fork copies the memory of a process and one of its threads. The pool of threads of the simulator and the solver, the pipes of the
//! worker processes and the CUDA context stay with the parent, so that the child would wait for them forever, or share them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::errors::Problem;

/// The process that the engine belongs to, and whether it has started something that a fork breaks.
#[derive(Debug)]
pub(crate) struct Process {
    id: AtomicU32,
    is_used: AtomicBool,
    /// Whether this process is a fork of one that had started something.
    is_broken: AtomicBool,
}

impl Default for Process {
    fn default() -> Process {
        let id = AtomicU32::new(std::process::id());
        Process { id, is_used: AtomicBool::new(false), is_broken: AtomicBool::new(false) }
    }
}

impl Process {
    /// Refuses a process that was forked too late. Takes a nanosecond, because every launch asks.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if self.is_broken.load(Ordering::Relaxed) { Err(Problem::forked()) } else { Ok(()) }
    }

    /// Notes that this process starts threads or worker processes, or uses CUDA.
    pub(crate) fn start(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    /// As [`Process::check`] and [`Process::start`]. Notices also a fork of which Python did not know.
    pub(crate) fn begin(&self) -> Result<(), Problem> {
        if self.id.load(Ordering::Relaxed) != std::process::id() {
            self.forked(false);
        }
        self.check()?;
        self.start();
        Ok(())
    }

    /// Notes that this process was forked. `is_busy` says that another thread of the parent held a lock.
    pub(crate) fn forked(&self, is_busy: bool) {
        self.id.store(std::process::id(), Ordering::Relaxed);
        if is_busy || self.is_used.load(Ordering::Relaxed) {
            self.is_broken.store(true, Ordering::Relaxed);
        }
    }
}

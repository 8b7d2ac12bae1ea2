//! Compiles several texts at the same time, each in a worker of its own.
//!
//! One compile keeps one core busy for seconds, and a worker answers one request after the other. Therefore compiles have workers
//! of their own, and no launch waits for one. Callers that need the same code at the same time share one compile.
//!
//! Start at [`CompilerPool::compile`].

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::client::WorkerClient;
use crate::compiler::{CompileError, Compiler, Outcome};
use crate::error::WorkerError;
use crate::limits::{Budget, Limits};
use crate::process::WorkerCommand;
use crate::protocol::CompileJob;

/// The interval at which a waiting caller checks its limits.
const POLL: Duration = Duration::from_millis(5);

/// A compiler with several workers. They start with the first compiles that need them, and end with the pool.
#[derive(Debug)]
pub struct CompilerPool {
    compiler: Compiler,
    command: WorkerCommand,
    /// The largest number of workers, at least 1.
    most: usize,
    /// Held while the compiler's libraries may be hashed, so that this happens once.
    hashing: Mutex<()>,
    state: Mutex<State>,
    /// Notified when a worker or a job becomes free.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<WorkerClient>,
    /// Number of workers that are compiling.
    busy: usize,
    /// The jobs that callers are compiling.
    running: Vec<Arc<Running>>,
}

/// A job that one caller compiles and others may wait for.
#[derive(Debug)]
struct Running {
    job: CompileJob,
    /// The result of the compile. It stays empty if the job ended for a reason that concerns only its caller: the caller's limits,
    /// or a worker that died.
    result: OnceLock<Result<Outcome, CompileError>>,
}

impl CompilerPool {
    /// Makes a pool of at most `most` workers, which `command` starts.
    pub fn new(compiler: Compiler, command: WorkerCommand, most: usize) -> CompilerPool {
        CompilerPool {
            compiler,
            command,
            most: most.max(1),
            hashing: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Compiles a job, or finds it in the cache, as [`Compiler::compile`] does. The limits include the wait for a worker.
    ///
    /// # Errors
    /// As for [`Compiler::compile`], and if no worker is free within the limits.
    pub fn compile(&self, job: &CompileJob, limits: &Limits<'_>) -> Result<Outcome, CompileError> {
        let budget = Budget::of(limits);
        loop {
            let found = {
                let _hashing = lock(&self.hashing);
                self.compiler.look_up(job)
            };
            let searched = match found {
                Ok(outcome) => return Ok(outcome),
                Err(searched) => searched,
            };
            // Without a compiler no worker is needed.
            let nvrtc = self.compiler.nvrtc().map_err(|absence| CompileError::Absent(absence.clone()))?;
            match self.claim(job) {
                Claim::Follow(running) => {
                    self.wait(job, &budget, |state| (!is_running(state, &running)).then_some(()))?;
                    if let Some(result) = running.result.get() {
                        return result.clone();
                    }
                }
                Claim::Lead(lead) => {
                    let mut worker = self.take(job, &budget)?;
                    let limits = Limits { deadline: budget.left(), cancelled: limits.cancelled };
                    let compiled =
                        self.compiler.compile_with(&mut worker.client, nvrtc, job, &limits, searched);
                    if !matches!(compiled, Err(CompileError::Worker(_))) {
                        // Only the caller that leads sets the result.
                        let _ = lead.running.result.set(compiled.clone());
                    }
                    return compiled;
                }
            }
        }
    }

    /// Makes the caller the one that compiles a job, unless another one is compiling it.
    fn claim(&self, job: &CompileJob) -> Claim<'_> {
        let mut state = lock(&self.state);
        if let Some(running) = state.running.iter().find(|running| running.job == *job) {
            return Claim::Follow(Arc::clone(running));
        }
        let running = Arc::new(Running { job: job.clone(), result: OnceLock::new() });
        state.running.push(Arc::clone(&running));
        Claim::Lead(Lead { pool: self, running })
    }

    /// Takes a worker out of the pool, and waits for one if all are busy.
    fn take(&self, job: &CompileJob, budget: &Budget<'_>) -> Result<Taken<'_>, CompileError> {
        let client = self.wait(job, budget, |state| {
            let fresh = || (state.busy < self.most).then(|| WorkerClient::new(self.command.clone()));
            let client = state.idle.pop().or_else(fresh)?;
            state.busy += 1;
            Some(client)
        })?;
        Ok(Taken { pool: self, client })
    }

    /// Waits until `ready` returns a value.
    fn wait<T>(
        &self,
        job: &CompileJob,
        budget: &Budget<'_>,
        mut ready: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, CompileError> {
        let mut state = lock(&self.state);
        loop {
            if let Some(value) = ready(&mut state) {
                return Ok(value);
            }
            let during = || format!("waiting to compile `{}`", job.file_name);
            if budget.is_cancelled() {
                return Err(CompileError::Worker(WorkerError::Cancelled { during: during() }));
            }
            let left = budget.left();
            if left.is_zero() {
                let (during, after) = (during(), budget.deadline());
                return Err(CompileError::Worker(WorkerError::Deadline { during, after }));
            }
            let waited = self.changed.wait_timeout(state, left.min(POLL));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn is_running(state: &State, running: &Arc<Running>) -> bool {
    state.running.iter().any(|other| Arc::ptr_eq(other, running))
}

/// The part of a caller in the compile of a job.
enum Claim<'p> {
    Lead(Lead<'p>),
    Follow(Arc<Running>),
}

/// Ends the job when it is dropped, also if the compile panics.
struct Lead<'p> {
    pool: &'p CompilerPool,
    running: Arc<Running>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        lock(&self.pool.state).running.retain(|other| !Arc::ptr_eq(other, &self.running));
        self.pool.changed.notify_all();
    }
}

/// A worker outside of the pool; it returns when this is dropped.
struct Taken<'p> {
    pool: &'p CompilerPool,
    client: WorkerClient,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let client = std::mem::replace(&mut self.client, WorkerClient::new(self.pool.command.clone()));
        let mut state = lock(&self.pool.state);
        state.busy -= 1;
        state.idle.push(client);
        drop(state);
        self.pool.changed.notify_all();
    }
}

// A poisoned lock is harmless: no caller leaves the state half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

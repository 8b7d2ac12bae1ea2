//! Launches of one kernel with several compile-time arguments over the same device memory: compiled at the same time, checked,
//! and timed in turns.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use hx_compile::Db;
use hx_host::device::{LaunchError, LaunchRequest, Step, Times};
use hx_host::{HostTensor, Tensor};
use hx_worker::TimePlan;
use hx_workspace::Database;

use super::resident::Memory;
use super::{Launcher, bind, find_kernel};
use crate::machine::Gpu;

/// Stack of a thread that compiles, because the compiler's passes recurse into nested expressions.
const STACK: usize = 64 << 20;

/// A GPU with the tensors of some launches in its memory.
pub struct Racetrack<'l, 'a> {
    launcher: &'l Launcher<'a>,
    gpu: &'l Gpu,
    memory: Memory,
}

impl std::fmt::Debug for Racetrack<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Racetrack")
            .field("launcher", &self.launcher)
            .field("gpu", &self.gpu)
            .finish_non_exhaustive()
    }
}

impl<'l, 'a> Racetrack<'l, 'a> {
    /// Makes a track without memory. [`Racetrack::close`] frees what it allocates.
    pub fn new(launcher: &'l Launcher<'a>, gpu: &'l Gpu) -> Racetrack<'l, 'a> {
        Racetrack { launcher, gpu, memory: Memory::default() }
    }

    /// Solves and compiles launches at the same time, and returns the reason for each that has no code. `on_progress` receives the number
    /// of those that are done; it is called on any thread.
    pub fn compile(
        &self,
        db: &Database,
        requests: &[LaunchRequest],
        on_progress: &(dyn Fn(usize) + Sync),
    ) -> Vec<Result<(), LaunchError>> {
        let (machine, until) = (self.launcher.machine, self.launcher.until);
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results: Vec<OnceLock<Result<(), LaunchError>>> =
            requests.iter().map(|_| OnceLock::new()).collect();
        let compile = |db: &Database, request: &LaunchRequest| {
            let launcher = Launcher::new(db, machine, until);
            let chosen = launcher.chosen(request)?;
            launcher.compile(&self.gpu.cuda, super::cuda_text(db, chosen.checked)?).map(drop)
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..cores.min(requests.len()) {
                let db = db.clone();
                let (next, done, results, compile) = (&next, &done, &results, &compile);
                let work = move || {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(request) = requests.get(at) else { return };
                        // Each position is taken by one thread, which sets its result once.
                        let _ = results[at].set(compile(&db, request));
                        on_progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                    }
                };
                // Without a thread the others do its work; without any, the results below say so.
                let _ = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
            }
        });
        let missing =
            || Err(super::internal("a candidate was not compiled: no thread could be started".to_owned()));
        results.into_iter().map(|result| result.into_inner().unwrap_or_else(missing)).collect()
    }

    /// Runs a step once and returns the tensors that it wrote. Their memory is zeroed before.
    ///
    /// # Errors
    /// If the step fails on the GPU.
    pub fn outputs(&mut self, step: &Step, outputs: &[&Tensor]) -> Result<Vec<Tensor>, LaunchError> {
        let bytes = self.launcher.run_resident(self.gpu, step, outputs, &mut self.memory)?;
        let tensor = |(like, data): (&&Tensor, Vec<u8>)| {
            Tensor::from_host(HostTensor { dtype: like.dtype(), shape: vec![like.len()], data })
        };
        Ok(outputs.iter().zip(bytes).map(tensor).collect())
    }

    /// Times steps in turns.
    ///
    /// # Errors
    /// If a step fails on the GPU.
    pub fn time(&mut self, steps: &[Step], plan: TimePlan) -> Result<Vec<Times>, LaunchError> {
        let works: Vec<Vec<Step>> = steps.iter().map(|step| vec![step.clone()]).collect();
        self.launcher.time_resident(self.gpu, &works, plan, &mut self.memory)
    }

    /// Frees the memory.
    ///
    /// # Errors
    /// If the worker fails.
    pub fn close(self) -> Result<(), LaunchError> {
        self.launcher.release(self.gpu, self.memory)
    }
}

/// The compile-time arguments and dimensions that a launch has.
#[derive(Debug)]
pub struct Launch {
    pub args: hx_lower::CtArgs,
    pub dims: std::collections::BTreeMap<hx_hir::Name, i64>,
}

/// Binds the arguments of a launch without choosing an instance.
///
/// # Errors
/// If there is no such kernel, or the arguments do not fit its signature.
pub fn bound(db: &dyn Db, request: &LaunchRequest) -> Result<Launch, LaunchError> {
    let kernel = find_kernel(db, request)?;
    let prepared = bind::bind(db, kernel, request)?;
    Ok(Launch { args: prepared.args, dims: prepared.dims })
}

//! Launches of one kernel with several compile-time arguments over the same device memory: compiled at the same time, checked,
//! and timed in turns.

use std::sync::atomic::{AtomicUsize, Ordering};

use hx_base::on_all_cores;
use hx_compile::Db;
use hx_host::device::{LaunchError, LaunchRequest, Step, Times};
use hx_host::{HostTensor, Tensor};
use hx_worker::TimePlan;
use hx_workspace::Database;

use super::resident::Memory;
use super::{Launcher, bind, find_kernel};
use crate::machine::Gpu;

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
        let done = AtomicUsize::new(0);
        let compile = |db: &Database, at: usize| {
            let launcher = Launcher::new(db, machine, until);
            let compiled = launcher
                .chosen(&requests[at])
                .and_then(|chosen| launcher.compile(&self.gpu.cuda, chosen.checked).map(drop));
            on_progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            compiled
        };
        on_all_cores(requests.len(), &|| db.clone(), &compile)
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

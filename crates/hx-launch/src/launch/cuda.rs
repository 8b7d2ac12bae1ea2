//! Launches a kernel on a GPU: compiles it in a worker through the cache, runs it in the GPU's worker, and classifies failures.

use std::time::Duration;

use hx_base::interrupt::Until;
use hx_base::{Code, codes};
use hx_codegen::{CudaSource, LaunchDescription, LaunchParam};
use hx_compile::{Db, cuda_source, thread_program};
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_index::Symbol;
use hx_inspect::{absence_error, refused_ptx};
use hx_target::Target;
use hx_thread::{LogContents, LogPlan};
use hx_worker::{
    Arg, CompileError, CompileJob, Compiled, Launch, LaunchResult, Limits, Outcome, RemoteError, WorkerError,
};
use rayon::prelude::*;
use web_time::Instant;

use super::instance::Checked;
use super::internal;
use super::levels::Levels;
use super::{Bound, BoundParam, BoundTensor, Launcher, maps, stopped_at};
use crate::machine::{Cuda, Gpu};

/// Time limit of a launch that has no other limit.
const DEFAULT_LIMIT: Duration = Duration::from_secs(600);
/// The CUDA driver's code for insufficient memory.
const OUT_OF_MEMORY: u32 = 2;

impl<'a> Launcher<'a> {
    /// Runs the kernel and writes its results back. Returns the lines that it printed, and a remark if levels were to be compared and
    /// could not be.
    pub(super) fn run_on_gpu(
        &self,
        gpu: &Gpu,
        checked: Checked<'a>,
        bound: &Bound,
    ) -> Result<(Vec<String>, Option<String>), LaunchError> {
        let (db, instance) = (self.db, checked.get());
        let source = cuda_text(db, checked)?;
        let grid = grid_of(&source.launch, bound)?;
        if grid.contains(&0) {
            // An empty grid runs nothing, as on the simulator. The driver would refuse it.
            return Ok((Vec::new(), None));
        }
        let program = thread_program(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
        let lookup = |s: &Symbol| bound.symbols.get(s).copied();
        let plan = (!program.log.is_empty()).then(|| LogPlan::new(program, grid.map(u64::from), &lookup));
        let log = plan.as_ref().map_or_else(Vec::new, LogPlan::buffer);
        let buffers = contents(bound).map_err(LaunchError::call)?;
        let args = arguments(instance.target(db), &source.launch.params, bound, |memory| match memory {
            Memory::Tensor(position, tensor) => {
                let data = buffers[position].as_deref().unwrap_or_default();
                Arg::Buffer { data, writable: tensor.mutable }
            }
            Memory::Log(_) => Arg::Buffer { data: &log, writable: true },
        })?;
        let compiled = self.compile(&gpu.cuda, checked)?;
        let launch = launch_of(gpu, (source, &compiled, grid), args);
        let result = self.launched(gpu, &launch)?;
        let remark = match self.levels {
            Levels::One(_) => None,
            Levels::Compared => self.compare_levels(gpu, (source, &launch), &result, (checked, bound))?,
        };
        let at = source.launch.params.iter().position(|p| matches!(p, LaunchParam::Log { .. }));
        let told = result.outputs.iter().find(|(position, _)| Some(**position) == at);
        let logged = match (&plan, told) {
            (Some(plan), Some((_, bytes))) => plan.read(program, bytes),
            _ => LogContents::default(),
        };
        let ((), printed) = self.launch_log(instance, program, &logged).finish(Ok(()))?;
        for (position, bytes) in &result.outputs {
            if let Some(BoundParam::Tensor(t)) = bound.params.get(*position) {
                t.write_back(bytes).map_err(LaunchError::call)?;
            }
        }
        Ok((printed, remark))
    }

    pub(super) fn launched(&self, gpu: &Gpu, launch: &Launch<'_>) -> Result<LaunchResult, LaunchError> {
        let cancelled = || self.stopped();
        let result = gpu.cuda.worker().launch(launch, &self.limits(&cancelled));
        result.map_err(|e| self.worker_error(&e))
    }

    /// Returns the machine code of a kernel, from the cache or from the compiler.
    pub(super) fn compile(&self, cuda: &Cuda, checked: Checked<'a>) -> Result<Compiled, LaunchError> {
        self.compile_at(cuda, checked, self.levels.first())
    }

    /// As [`Launcher::compile`], at a level of the assembler.
    pub(super) fn compile_at(
        &self,
        cuda: &Cuda,
        checked: Checked<'a>,
        level: Option<u8>,
    ) -> Result<Compiled, LaunchError> {
        Ok(self.outcome_at(cuda, checked, level)?.compiled)
    }

    /// As [`Launcher::compile`], and says whether the code came from the cache.
    pub(super) fn compile_outcome(&self, cuda: &Cuda, checked: Checked<'a>) -> Result<Outcome, LaunchError> {
        self.outcome_at(cuda, checked, self.levels.first())
    }

    fn outcome_at(
        &self,
        cuda: &Cuda,
        checked: Checked<'a>,
        level: Option<u8>,
    ) -> Result<Outcome, LaunchError> {
        let source = cuda_text(self.db, checked)?;
        let outcome = compile(cuda, source, (self.target, level), self.until).map_err(|error| {
            self.refused(cuda, (checked, source), &error).unwrap_or_else(|| self.compile_error(error))
        })?;
        cuda.warn(outcome.cache_warnings.iter().map(ToString::to_string));
        Ok(outcome)
    }

    /// Compiles a text that is not of a kernel of the program.
    pub(super) fn compile_job(&self, cuda: &Cuda, job: &CompileJob) -> Result<Compiled, LaunchError> {
        let cancelled = || self.until.is_reached();
        let outcome = cuda.compilers.compile(job, &limits(self.until, &cancelled));
        let outcome = outcome.map_err(|e| self.compile_error(e))?;
        cuda.warn(outcome.cache_warnings.iter().map(ToString::to_string));
        Ok(outcome.compiled)
    }

    /// Compiles kernels into the cache, at the same time. Failures are not reported here: the launch that needs the code
    /// reports them.
    pub(super) fn compile_all(&self, cuda: &Cuda, sources: &[&CudaSource]) {
        let (target, level, until) = (self.target, self.levels.first(), self.until);
        sources.par_iter().for_each(|source| drop(compile(cuda, source, (target, level), until)));
    }

    pub(super) fn limits<'l>(&self, cancelled: &'l dyn Fn() -> bool) -> Limits<'l> {
        limits(self.until, cancelled)
    }

    /// Returns the findings of the assembler in PTX that the source writes; `None` if the compile failed for another reason.
    fn refused(
        &self,
        cuda: &Cuda,
        (checked, source): (Checked<'a>, &CudaSource),
        error: &CompileError,
    ) -> Option<LaunchError> {
        let CompileError::Refused { log, .. } = error else { return None };
        let cancelled = || self.until.is_reached();
        let mut ptx = |job: &CompileJob| {
            let outcome = cuda.compilers.compile(job, &limits(self.until, &cancelled));
            outcome.ok().map(|outcome| outcome.compiled.code)
        };
        let found = refused_ptx(self.db, checked.get(), (source, log), &mut ptx);
        (!found.is_empty()).then_some(LaunchError::Found(found))
    }

    fn compile_error(&self, error: CompileError) -> LaunchError {
        match error {
            CompileError::Absent(absence) => LaunchError::call(absence_error(&absence)),
            CompileError::Refused { log, .. } => {
                // The assembler's last line, "Ptx assembly aborted due to errors", gives no reason.
                let has_reason = |line: &&str| {
                    (line.contains("error") || line.contains("fatal")) && !line.contains("assembly aborted")
                };
                let shown: Vec<&str> = log.lines().filter(has_reason).take(3).collect();
                let error =
                    HostError::new(&codes::INTERNAL_ERROR, "the CUDA compiler refused the generated text");
                LaunchError::call(shown.iter().fold(error, |e, line| e.note(line.trim())))
            }
            CompileError::Worker(error) => self.worker_error(&error),
        }
    }

    pub(super) fn worker_error(&self, error: &WorkerError) -> LaunchError {
        if matches!(error, WorkerError::Deadline { .. } | WorkerError::Cancelled { .. }) {
            return LaunchError::call(self.stop_reason());
        }
        if let WorkerError::Remote(RemoteError::Absent(absence)) = error {
            return LaunchError::call(absence_error(absence));
        }
        let code: &'static Code = match error {
            WorkerError::Crashed { .. } => &codes::WORKER_CRASHED,
            WorkerError::Spawn { .. } => &codes::IO_ERROR,
            WorkerError::Remote(RemoteError::Cuda(fault)) if fault.code == OUT_OF_MEMORY => {
                &codes::OUT_OF_MEMORY
            }
            WorkerError::Remote(RemoteError::Cuda(_)) => &codes::LAUNCH_FAILED,
            _ => &codes::INTERNAL_ERROR,
        };
        let mut out = HostError::new(code, error.to_string());
        if let WorkerError::Crashed { stderr, .. } = error
            && !stderr.trim().is_empty()
        {
            out = out.note(format!("it said: {}", stderr.trim()));
        }
        if error.cuda_fault().is_some_and(|fault| fault.code != OUT_OF_MEMORY) {
            out = out.help("`--device sim` runs the same launch with every access checked");
        }
        LaunchError::call(out)
    }
}

/// Compiles a kernel, or finds it in the cache.
fn compile(
    cuda: &Cuda,
    source: &CudaSource,
    (target, level): (Target, Option<u8>),
    until: Until<'_>,
) -> Result<Outcome, CompileError> {
    let job = CompileJob::of_kernel(source.text.clone(), &source.symbol, target.name()).at_level(level);
    let job = CompileJob { want: cuda.want, ..job };
    let cancelled = || until.is_reached();
    cuda.compilers.compile(&job, &limits(until, &cancelled))
}

fn limits<'l>(until: Until<'_>, cancelled: &'l dyn Fn() -> bool) -> Limits<'l> {
    let left = until.deadline.map_or(DEFAULT_LIMIT, |at| at.saturating_duration_since(Instant::now()));
    Limits { deadline: left, cancelled }
}

/// Returns the CUDA text of an instance, or the errors that prevent it.
pub(super) fn cuda_text<'db>(db: &'db dyn Db, checked: Checked<'db>) -> Result<&'db CudaSource, LaunchError> {
    let instance = checked.get();
    cuda_source(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))
}

/// Returns the number of blocks of a launch along x, y and z.
pub(super) fn grid_of(launch: &LaunchDescription, bound: &Bound) -> Result<[u32; 3], LaunchError> {
    let lookup = |s: &Symbol| bound.symbols.get(s).copied();
    let mut grid = [1u32; 3];
    for (axis, blocks) in launch.grid.iter().enumerate().take(3) {
        let value = blocks.eval(&lookup).map_err(|e| internal(e.to_string()))?;
        grid[axis] = u32::try_from(value)
            .map_err(|_| internal(format!("a grid of {value} blocks was not refused")))?;
    }
    Ok(grid)
}

/// A kernel argument that is an address in device memory.
pub(super) enum Memory<'t> {
    /// A tensor, by position.
    Tensor(usize, &'t BoundTensor),
    /// A buffer for prints and assertions, of at least that many bytes.
    Log(u64),
}

/// Returns the kernel's arguments in the order in which it takes them. `memory` supplies the addresses.
pub(super) fn arguments<'b>(
    target: Target,
    params: &[LaunchParam],
    bound: &Bound,
    mut memory: impl FnMut(Memory<'_>) -> Arg<'b>,
) -> Result<Vec<Arg<'b>>, LaunchError> {
    let mut args = Vec::with_capacity(params.len());
    for (position, param) in params.iter().enumerate() {
        args.push(match (param, bound.params.get(position)) {
            (LaunchParam::Tensor(_), Some(BoundParam::Tensor(t))) => memory(Memory::Tensor(position, t)),
            (LaunchParam::TensorMap(map), _) => {
                Arg::TensorMap(maps::argument(&target.rows().map, map, bound)?)
            }
            (LaunchParam::Log { bytes }, _) => memory(Memory::Log(*bytes)),
            (LaunchParam::Scalar { dtype, .. }, Some(BoundParam::Int(value))) => {
                Arg::Value(scalar_bytes(*dtype, hx_host::tensor::encode_int(*dtype, *value)))
            }
            (LaunchParam::Scalar { dtype, .. }, Some(BoundParam::Float(value))) => {
                Arg::Value(scalar_bytes(*dtype, dtype.encode(*value)))
            }
            (LaunchParam::Symbol(symbol), _) => {
                let value = bound.symbols.get(symbol).copied().and_then(|v| i32::try_from(v).ok());
                Arg::i32(value.ok_or_else(|| internal(format!("`{symbol}` has no 32-bit value")))?)
            }
            _ => {
                return Err(internal("the parameters of the program are not those of the kernel".to_owned()));
            }
        });
    }
    Ok(args)
}

fn scalar_bytes(dtype: hx_dtype::DType, bits: u64) -> Vec<u8> {
    let width = hx_dtype::packed_bytes(dtype, 1);
    bits.to_le_bytes()[..width].to_vec()
}

/// Returns the bytes of each tensor, by the position of its parameter; `None` for parameters that are no tensors.
fn contents(bound: &Bound) -> Result<Vec<Option<Vec<u8>>>, HostError> {
    bound
        .params
        .iter()
        .map(|p| match p {
            BoundParam::Tensor(t) => t.bytes().map(Some),
            _ => Ok(None),
        })
        .collect::<Result<_, _>>()
}

/// Makes the launch of a kernel's machine code, with the threads, the cluster and the memory that its text asks for.
pub(super) fn launch_of<'p>(
    gpu: &Gpu,
    (source, compiled, grid): (&'p CudaSource, &'p Compiled, [u32; 3]),
    args: Vec<Arg<'p>>,
) -> Launch<'p> {
    Launch {
        device: gpu.info.ordinal,
        cubin: &compiled.code,
        symbol: &source.symbol,
        grid,
        cluster: source.launch.cluster,
        threads: source.launch.threads,
        shared_bytes: source.launch.shared_bytes,
        waits_for_previous: source.launch.waits_for_previous,
        args,
    }
}

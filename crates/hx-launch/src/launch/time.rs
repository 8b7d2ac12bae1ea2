//! Times works on a GPU: uploads every tensor once, runs the works in turns, and returns the samples.
//!
//! Views of one buffer that span the same elements share device memory (`b` and `b.T` do). Views that overlap otherwise get
//! separate memory; this does not affect the time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use hx_codegen::CudaSource;
use hx_compile::Db;
use hx_dtype::DType;
use hx_host::device::Cycles;
use hx_host::device::{GemmRequest, LaunchError, LaunchRequest, Step, Times};
use hx_host::{HostError, HostResult, Tensor};
use hx_inspect::absence_error;
use hx_worker::{Arg, Buffer, Compiled, Element, Gemm, Launch, Matrix, TimePlan, Work};

use super::cuda::{Memory as Place, arguments, cuda_text, grid_of};
use super::{Bound, BoundTensor, Chosen, Launcher};
use super::{estimates, internal};
use crate::machine::Gpu;

/// Size in bytes of the pattern that fills the buffers of timed copies.
const PATTERN_BYTES: usize = 1 << 20;

/// Options of the timing of kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    pub plan: TimePlan,
    /// Number of copies of every tensor; repeated runs cycle through them. 1 uses the same memory in every run.
    pub rotate: usize,
    /// Measure the clock beside the kernels, and give cycles and estimates with the times.
    pub estimates: bool,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing { plan: TimePlan::default(), rotate: 1, estimates: false }
    }
}

/// Identifies the bytes of a host buffer that device memory holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Content {
    /// The elements from the position `start` of a buffer up to, without, `end`.
    Span { buffer: u64, start: usize, end: usize },
    /// The elements of a view, packed.
    Packed { buffer: u64, offset: usize, shape: Vec<usize>, strides: Vec<usize> },
    /// The source or destination of a timed copy, by the positions of its work and step.
    Scratch { work: usize, step: usize, written: bool },
    /// The log of kernel prints. Nobody reads it in timed runs.
    Log { bytes: u64 },
    /// The sums of the kernel that measures the clock.
    Clock,
}

impl Content {
    fn span(tensor: &Tensor) -> Content {
        let span = tensor.span();
        Content::Span { buffer: tensor.buffer_id(), start: span.start, end: span.end }
    }

    fn of(bound: &BoundTensor) -> Content {
        let tensor = &bound.tensor;
        if bound.strided || tensor.is_contiguous() {
            return Content::span(tensor);
        }
        Content::Packed {
            buffer: tensor.buffer_id(),
            offset: tensor.offset(),
            shape: tensor.shape().to_vec(),
            strides: tensor.strides().to_vec(),
        }
    }
}

/// A launch that is complete except for its device memory.
struct Planned<'db> {
    source: &'db CudaSource,
    compiled: Compiled,
    grid: [u32; 3],
    bound: Bound,
    /// The cycles of the launch by the cost model, if they are wanted and known.
    estimated: Option<f64>,
}

/// Device memory by content and variant, freed by [`Launcher::release`].
#[derive(Default)]
pub(super) struct Memory {
    buffers: BTreeMap<(Content, usize), Buffer>,
}

impl<'a> Launcher<'a> {
    pub(super) fn time_on_gpu(&self, gpu: &Gpu, works: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        let mut memory = Memory::default();
        let timed = self.time_resident(gpu, works, self.timing.plan, &mut memory);
        let released = self.release(gpu, memory);
        let times = timed?;
        released.map(|()| times)
    }

    /// Times works whose tensors stay in `memory` for the next call.
    pub(super) fn time_resident(
        &self,
        gpu: &Gpu,
        works: &[Vec<Step>],
        plan: TimePlan,
        memory: &mut Memory,
    ) -> Result<Vec<Times>, LaunchError> {
        let mut planned = Vec::with_capacity(works.len());
        for steps in works {
            let steps = steps.iter().map(|step| match step {
                Step::Launch(request) => self.plan(gpu, request).map(Some),
                Step::Gemm(_) | Step::Copy { .. } => Ok(None),
            });
            planned.push(steps.collect::<Result<Vec<_>, _>>()?);
        }
        self.time_planned(gpu, works, &planned, plan, memory)
    }

    /// Runs a work once over the tensors in `memory`, and returns the contents of `outputs` afterwards. They are zeroed before.
    pub(super) fn run_resident(
        &self,
        gpu: &Gpu,
        step: &Step,
        outputs: &[&Tensor],
        memory: &mut Memory,
    ) -> Result<Vec<Vec<u8>>, LaunchError> {
        let plan = match step {
            Step::Launch(request) => Some(self.plan(gpu, request)?),
            Step::Gemm(_) | Step::Copy { .. } => None,
        };
        let ready = match (step, &plan) {
            (Step::Launch(_), Some(plan)) => hx_worker::Step::Launch(self.resident(gpu, plan, 0, memory)?),
            (Step::Gemm(request), _) => hx_worker::Step::Gemm(self.product(gpu, request, 0, memory)?),
            _ => return Err(internal("a copy has no result".to_owned())),
        };
        let mut buffers = Vec::with_capacity(outputs.len());
        for tensor in outputs {
            let buffer = memory.buffers.get(&(Content::span(tensor), 0));
            buffers.push(*buffer.ok_or_else(|| internal("an output is not on the device".to_owned()))?);
        }
        let cancelled = || self.stopped();
        let limits = self.limits(&cancelled);
        let mut worker = gpu.cuda.worker();
        let mut run = || -> Result<Vec<Vec<u8>>, hx_worker::WorkerError> {
            for buffer in &buffers {
                worker.fill(*buffer, &[0; 16], &limits)?;
            }
            worker.run(gpu.info.ordinal, std::slice::from_ref(&ready), &limits)?;
            buffers.iter().map(|buffer| worker.download(*buffer, 0, buffer.bytes(), &limits)).collect()
        };
        run().map_err(|e| self.worker_error(&e))
    }

    fn time_planned(
        &self,
        gpu: &Gpu,
        works: &[Vec<Step>],
        planned: &[Vec<Option<Planned<'_>>>],
        plan: TimePlan,
        memory: &mut Memory,
    ) -> Result<Vec<Times>, LaunchError> {
        let mut wire = Vec::with_capacity(works.len());
        for (work, (steps, plans)) in works.iter().zip(planned).enumerate() {
            let mut variants = Vec::new();
            for variant in 0..self.timing.rotate.max(1) {
                let mut ready = Vec::with_capacity(steps.len());
                for (at, (step, launch)) in steps.iter().zip(plans).enumerate() {
                    ready.push(match (step, launch) {
                        (Step::Launch(_), Some(launch)) => {
                            hx_worker::Step::Launch(self.resident(gpu, launch, variant, memory)?)
                        }
                        (Step::Gemm(request), _) => {
                            hx_worker::Step::Gemm(self.product(gpu, request, variant, memory)?)
                        }
                        (Step::Copy { bytes }, _) => {
                            let side = |written| Content::Scratch { work, step: at, written };
                            let from = self.scratch(gpu, side(false), variant, *bytes, memory)?;
                            let to = self.scratch(gpu, side(true), variant, *bytes, memory)?;
                            hx_worker::Step::Copy { from, to, bytes: *bytes }
                        }
                        (Step::Launch(_), None) => {
                            return Err(internal("a launch to time was not planned".to_owned()));
                        }
                    });
                }
                variants.push(ready);
            }
            wire.push(Work { variants });
        }
        let code = self.timing.estimates.then(|| self.clock_code(gpu)).transpose()?;
        let sums = code.as_ref().map(|_| self.clock_sums(gpu, memory)).transpose()?;
        wire.extend(code.as_ref().zip(sums).map(|(code, sums)| estimates::clock_work(gpu, code, sums)));
        let cancelled = || self.stopped();
        let limits = self.limits(&cancelled);
        let timings = gpu.cuda.worker().time(gpu.info.ordinal, &wire, plan, &limits);
        let timings = timings.map_err(|e| self.worker_error(&e))?;
        let rate = sums.map(|sums| self.clock_rate(gpu, sums, timings.last())).transpose()?;
        let times = timings.iter().zip(planned).map(|(timing, plans)| {
            // Round to nanoseconds: this is finer than the resolution of the events, and short to write.
            let us = |ms: f64| (ms * 1e6).round() / 1e3;
            let quantile = |q| timing.quantile(q).map(us);
            let samples = timing.gpu_ms.iter().map(|ms| us(f64::from(*ms))).collect();
            let (low, median, high) = (quantile(0.2)?, quantile(0.5)?, quantile(0.8)?);
            let cycles = rate.map(|rate| Cycles {
                measured: rate.cycles(median),
                estimated: plans.iter().map(|plan| plan.as_ref()?.estimated).sum(),
            });
            Some(Times { samples, median, low, high, cycles })
        });
        let times: Option<Vec<Times>> = times.collect();
        times.ok_or_else(|| internal("the worker timed nothing".to_owned()))
    }

    /// Runs the product once and writes its result back to the host.
    pub(super) fn multiply(&self, gpu: &Gpu, request: &GemmRequest) -> Result<(), LaunchError> {
        let mut memory = Memory::default();
        let run = |memory: &mut Memory| {
            let product = self.product(gpu, request, 0, memory)?;
            let cancelled = || self.stopped();
            let limits = self.limits(&cancelled);
            let result = product.c.buffer;
            let mut worker = gpu.cuda.worker();
            worker
                .run(gpu.info.ordinal, &[hx_worker::Step::Gemm(product)], &limits)
                .and_then(|()| worker.download(result, 0, result.bytes(), &limits))
                .map_err(|e| self.worker_error(&e))
        };
        let ran = run(&mut memory);
        let released = self.release(gpu, memory);
        let bytes = ran?;
        released?;
        request.c.write_span_bytes(&bytes).map_err(LaunchError::call)
    }

    fn plan(&self, gpu: &Gpu, request: &LaunchRequest) -> Result<Planned<'a>, LaunchError> {
        let db: &'a dyn Db = self.db;
        let Chosen { checked, bound, .. } = self.chosen(request)?;
        let source = cuda_text(db, checked)?;
        let grid = grid_of(source, &bound)?;
        let compiled = self.compile(&gpu.cuda, source)?;
        let estimated = self.timing.estimates.then(|| estimates::launch(db, checked, &bound)).flatten();
        Ok(Planned { source, compiled, grid, bound, estimated })
    }

    /// Returns a launch over device memory that stays allocated between runs.
    fn resident<'p>(
        &self,
        gpu: &Gpu,
        plan: &'p Planned<'_>,
        variant: usize,
        memory: &mut Memory,
    ) -> Result<Launch<'p>, LaunchError> {
        let mut failed = None;
        let args = arguments(gpu.cuda.target, &plan.source.launch.params, &plan.bound, |wanted| {
            let uploaded = match wanted {
                Place::Tensor(_, tensor) => {
                    self.upload(gpu, Content::of(tensor), variant, memory, || tensor.bytes())
                }
                // The log only needs room for its counts: the run before the timed ones has reported the prints.
                Place::Log(bytes) => {
                    let zeros = || Ok(vec![0; bytes as usize]);
                    self.upload(gpu, Content::Log { bytes }, variant, memory, zeros)
                }
            };
            match uploaded {
                Ok(buffer) => Arg::Resident { buffer, offset: 0 },
                Err(error) => {
                    failed.get_or_insert(error);
                    Arg::Value(Vec::new())
                }
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(Launch {
            device: gpu.info.ordinal,
            cubin: &plan.compiled.code,
            symbol: &plan.source.symbol,
            grid: plan.grid,
            cluster: plan.source.launch.cluster,
            threads: plan.source.launch.threads,
            shared_bytes: plan.source.launch.shared_bytes,
            waits_for_previous: plan.source.launch.waits_for_previous,
            args,
        })
    }

    /// Returns the memory for the sums of the clock.
    fn clock_sums(&self, gpu: &Gpu, memory: &mut Memory) -> Result<Buffer, LaunchError> {
        self.upload(gpu, Content::Clock, 0, memory, || Ok(vec![0; hx_calibrate::CLOCK_BYTES as usize]))
    }

    fn product(
        &self,
        gpu: &Gpu,
        request: &GemmRequest,
        variant: usize,
        memory: &mut Memory,
    ) -> Result<Gemm, LaunchError> {
        let library = gpu.cuda.cublaslt.clone().map_err(|a| LaunchError::call(absence_error(&a)))?;
        let GemmRequest { a, b, c } = request;
        let mut matrix = |tensor: &Tensor| {
            let element = element(tensor.dtype()).map_err(LaunchError::call)?;
            let strides = strides(tensor).map_err(LaunchError::call)?;
            let buffer = self.upload(gpu, Content::span(tensor), variant, memory, || tensor.span_bytes())?;
            let apart = if tensor.shape().len() == 3 { tensor.strides()[0] as u64 } else { 0 };
            Ok::<Matrix, LaunchError>(Matrix { buffer, offset: 0, element, strides, apart })
        };
        let (wire_a, wire_b, wire_c) = (matrix(a)?, matrix(b)?, matrix(c)?);
        let extent = |tensor: &Tensor, from_last: usize| {
            tensor.shape().iter().rev().nth(from_last).map_or(1, |n| *n as u64)
        };
        Ok(Gemm {
            library,
            batch: extent(c, 2),
            m: extent(c, 1),
            n: extent(c, 0),
            k: extent(a, 0),
            a: wire_a,
            b: wire_b,
            c: wire_c,
        })
    }

    /// Returns the memory of that content. The first use allocates and uploads it.
    fn upload(
        &self,
        gpu: &Gpu,
        content: Content,
        variant: usize,
        memory: &mut Memory,
        bytes: impl FnOnce() -> HostResult<Vec<u8>>,
    ) -> Result<Buffer, LaunchError> {
        let slot = match memory.buffers.entry((content, variant)) {
            Entry::Occupied(entry) => return Ok(*entry.get()),
            Entry::Vacant(slot) => slot,
        };
        let bytes = bytes().map_err(LaunchError::call)?;
        let cancelled = || self.stopped();
        let limits = self.limits(&cancelled);
        let mut worker = gpu.cuda.worker();
        let buffer = worker.alloc(gpu.info.ordinal, bytes.len() as u64, &limits);
        let buffer = *slot.insert(buffer.map_err(|e| self.worker_error(&e))?);
        worker.upload(buffer, 0, &bytes, &limits).map_err(|e| self.worker_error(&e))?;
        Ok(buffer)
    }

    /// Allocates `bytes` bytes and fills them with a pattern that looks random. Copies of zeros might be faster than other
    /// copies.
    fn scratch(
        &self,
        gpu: &Gpu,
        content: Content,
        variant: usize,
        bytes: u64,
        memory: &mut Memory,
    ) -> Result<Buffer, LaunchError> {
        let cancelled = || self.stopped();
        let limits = self.limits(&cancelled);
        let mut worker = gpu.cuda.worker();
        let buffer = worker.alloc(gpu.info.ordinal, bytes, &limits).map_err(|e| self.worker_error(&e))?;
        memory.buffers.insert((content, variant), buffer);
        worker.fill(buffer, &pattern(), &limits).map_err(|e| self.worker_error(&e))?;
        Ok(buffer)
    }

    /// Frees device memory. If the worker died, its memory is already free.
    pub(super) fn release(&self, gpu: &Gpu, memory: Memory) -> Result<(), LaunchError> {
        let cancelled = || self.stopped();
        let limits = self.limits(&cancelled);
        let mut worker = gpu.cuda.worker();
        for buffer in memory.buffers.into_values() {
            worker.free(buffer, &limits).map_err(|e| self.worker_error(&e))?;
        }
        Ok(())
    }
}

fn element(dtype: DType) -> HostResult<Element> {
    match dtype {
        DType::F16 => Ok(Element::F16),
        DType::Bf16 => Ok(Element::Bf16),
        DType::F32 => Ok(Element::F32),
        DType::Tf32 => Ok(Element::Tf32),
        DType::F8E4m3 => Ok(Element::F8e4m3),
        DType::F8E5m2 => Ok(Element::F8e5m2),
        DType::I8 => Ok(Element::I8),
        DType::I32 => Ok(Element::I32),
        other => {
            let all = "f16, bf16, f32, tf32, f8e4m3, f8e5m2 and i8";
            Err(HostError::ty(format!("`cublas::gemm` multiplies {all}, found {other}")))
        }
    }
}

/// Returns the strides of a matrix, or an error unless its rows or columns are contiguous.
fn strides(tensor: &Tensor) -> HostResult<[u64; 2]> {
    match (tensor.shape(), tensor.strides()) {
        (&[rows, columns] | &[_, rows, columns], &[down, across] | &[_, down, across])
            if down == 1 || across == 1 || rows == 1 || columns == 1 =>
        {
            Ok([down as u64, across as u64])
        }
        (_, strides) => {
            let error = HostError::shape(format!(
                "`cublas::gemm` takes matrices with contiguous rows or columns, the strides are {strides:?}"
            ));
            Err(error.help("`copy(x)` makes a tensor of its own"))
        }
    }
}

/// Returns bytes that look random and are the same on every machine (xorshift).
fn pattern() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut bytes = Vec::with_capacity(PATTERN_BYTES);
    while bytes.len() < PATTERN_BYTES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}

//! Times works on a GPU: runs them in turns over tensors in device memory ([`super::resident`]), and returns the samples.

use std::collections::BTreeMap;

use hx_codegen::CudaSource;
use hx_compile::{Db, Forecast};
use hx_dtype::{DType, packed_bytes};
use hx_host::device::{Cycles, GemmRequest, LaunchError, LaunchRequest, Peak, Step, Times};
use hx_host::{HostError, HostResult, Tensor};
use hx_inspect::absence_error;
use hx_worker::{Arg, Buffer, Compiled, Element, Gemm, Launch, Matrix, TimePlan, Work};

use super::cuda::{Memory as Place, arguments, cuda_text, grid_of, launch_of};
use super::resident::{Content, Memory};
use super::{Bound, BoundParam, Chosen, Launcher};
use super::{estimates, internal, peak};
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

/// A launch that is complete except for its device memory.
struct Planned<'db> {
    source: &'db CudaSource,
    compiled: Compiled,
    grid: [u32; 3],
    bound: Bound,
    /// The forecast of the launch by the cost model, if it is wanted and known.
    estimated: Option<Forecast>,
    /// The peak of the instruction of the launch's products, if it has any.
    peak: Option<Peak>,
}

impl<'a> Launcher<'a> {
    /// Times works over `memory`, and then gives the tensors that they wrote their contents from before.
    pub(super) fn time_on_gpu(
        &self,
        gpu: &Gpu,
        works: &[Vec<Step>],
        memory: &mut Memory,
    ) -> Result<Vec<Times>, LaunchError> {
        let planned = self.planned(gpu, works)?;
        let timed = self.time_planned(gpu, works, &planned, self.timing.plan, memory);
        let settled = self.settle(gpu, &written(works, &planned), memory);
        let times = timed?;
        settled.map(|()| times)
    }

    fn planned(&self, gpu: &Gpu, works: &[Vec<Step>]) -> Result<Vec<Vec<Option<Planned<'a>>>>, LaunchError> {
        let plan = |step: &Step| match step {
            Step::Launch(request) => self.plan(gpu, request).map(Some),
            Step::Gemm(_) | Step::Copy { .. } | Step::Read { .. } => Ok(None),
        };
        works.iter().map(|steps| steps.iter().map(plan).collect()).collect()
    }

    /// Times works whose tensors stay in `memory` for the next call.
    pub(super) fn time_resident(
        &self,
        gpu: &Gpu,
        works: &[Vec<Step>],
        plan: TimePlan,
        memory: &mut Memory,
    ) -> Result<Vec<Times>, LaunchError> {
        let planned = self.planned(gpu, works)?;
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
            Step::Gemm(_) | Step::Copy { .. } | Step::Read { .. } => None,
        };
        let ready = match (step, &plan) {
            (Step::Launch(_), Some(plan)) => {
                hx_worker::Step::Launch(self.resident(gpu, plan.code(), &plan.bound, 0, memory)?)
            }
            (Step::Gemm(request), _) => hx_worker::Step::Gemm(self.product(gpu, request, 0, memory)?),
            _ => return Err(internal("a copy has no result".to_owned())),
        };
        let mut buffers = Vec::with_capacity(outputs.len());
        for tensor in outputs {
            let buffer = memory.get(Content::span(tensor).0);
            buffers.push(buffer.ok_or_else(|| internal("an output is not on the device".to_owned()))?);
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
                            let code = launch.code();
                            hx_worker::Step::Launch(self.resident(
                                gpu,
                                code,
                                &launch.bound,
                                variant,
                                memory,
                            )?)
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
                        (Step::Read { bytes }, _) => {
                            let side = Content::Scratch { work, step: at, written: false };
                            let from = self.scratch(gpu, side, variant, *bytes, memory)?;
                            hx_worker::Step::Read { from, bytes: *bytes }
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
                estimated: plans
                    .iter()
                    .map(|plan| Some(plan.as_ref()?.estimated?.cycles_at(rate.clock())))
                    .sum(),
            });
            let peak = slowest(plans.iter().flatten().filter_map(|plan| plan.peak.clone()));
            Some(Times { samples, median, low, high, cycles, peak })
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
            let (result, offset) = (product.c.buffer, product.c.offset);
            let bytes = packed_bytes(request.c.dtype(), request.c.span().len()) as u64;
            let mut worker = gpu.cuda.worker();
            worker
                .run(gpu.info.ordinal, &[hx_worker::Step::Gemm(product)], &limits)
                .and_then(|()| worker.download(result, offset, bytes, &limits))
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
        let grid = grid_of(&source.launch, &bound)?;
        let compiled = self.compile(&gpu.cuda, checked)?;
        let estimated = self.timing.estimates.then(|| estimates::launch(db, checked, &bound)).flatten();
        let peak = peak::of(db, checked, gpu);
        Ok(Planned { source, compiled, grid, bound, estimated, peak })
    }

    /// Returns a launch over device memory that stays allocated between runs.
    pub(super) fn resident<'p>(
        &self,
        gpu: &Gpu,
        (source, compiled, grid): (&'p CudaSource, &'p Compiled, [u32; 3]),
        bound: &Bound,
        variant: usize,
        memory: &mut Memory,
    ) -> Result<Launch<'p>, LaunchError> {
        let mut failed = None;
        let args = arguments(gpu.cuda.target, &source.launch.params, bound, |wanted| {
            let placed = match wanted {
                Place::Tensor(_, tensor) => {
                    let bytes = || tensor.bytes();
                    self.place(gpu, &tensor.tensor, Content::of(tensor), variant, memory, bytes)
                }
                // The log only needs room for its counts: the run before the timed ones has reported the prints. New memory is zeroed.
                Place::Log(bytes) => self
                    .other(gpu, (Content::Log { bytes }, variant), bytes, memory, |_| Ok(()))
                    .map(|buffer| (buffer, 0)),
            };
            match placed {
                Ok((buffer, offset)) => Arg::Resident { buffer, offset },
                Err(error) => {
                    failed.get_or_insert(error);
                    Arg::Value(Vec::new())
                }
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(launch_of(gpu, (source, compiled, grid), args))
    }

    /// Returns the memory for the sums of the clock.
    fn clock_sums(&self, gpu: &Gpu, memory: &mut Memory) -> Result<Buffer, LaunchError> {
        self.other(gpu, (Content::Clock, 0), hx_calibrate::CLOCK_BYTES, memory, |_| Ok(()))
    }

    pub(super) fn product(
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
            let content = Content::span(tensor);
            let (buffer, offset) =
                self.place(gpu, tensor, content, variant, memory, || tensor.span_bytes())?;
            let apart = if tensor.shape().len() == 3 { tensor.strides()[0] as u64 } else { 0 };
            Ok::<Matrix, LaunchError>(Matrix { buffer, offset, element, strides, apart })
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

    /// Returns `bytes` bytes of a pattern that looks random. Copies of zeros might be faster than other copies.
    fn scratch(
        &self,
        gpu: &Gpu,
        content: Content,
        variant: usize,
        bytes: u64,
        memory: &mut Memory,
    ) -> Result<Buffer, LaunchError> {
        self.other(gpu, (content, variant), bytes, memory, |buffer| {
            let cancelled = || self.stopped();
            let filled = gpu.cuda.worker().fill(buffer, &pattern(), &self.limits(&cancelled));
            filled.map_err(|e| self.worker_error(&e))
        })
    }
}

impl<'db> Planned<'db> {
    fn code(&self) -> (&'db CudaSource, &Compiled, [u32; 3]) {
        (self.source, &self.compiled, self.grid)
    }
}

/// Returns the tensors that works write, by [`Tensor::buffer_id`].
fn written(works: &[Vec<Step>], planned: &[Vec<Option<Planned<'_>>>]) -> BTreeMap<u64, Tensor> {
    let mut written = BTreeMap::new();
    let mut note = |tensor: &Tensor| drop(written.insert(tensor.buffer_id(), tensor.clone()));
    for (step, plan) in works.iter().flatten().zip(planned.iter().flatten()) {
        if let Step::Gemm(request) = step {
            note(&request.c);
        }
        for param in plan.iter().flat_map(|plan| &plan.bound.params) {
            if let BoundParam::Tensor(tensor) = param
                && tensor.mutable
            {
                note(&tensor.tensor);
            }
        }
    }
    written
}

/// Returns the peak of the slowest instruction.
fn slowest(peaks: impl Iterator<Item = Peak>) -> Option<Peak> {
    peaks.min_by(|a, b| a.per_second().total_cmp(&b.per_second()))
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

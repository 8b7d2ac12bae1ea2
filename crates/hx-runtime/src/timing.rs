//! Times works on a device, interleaved, and runs steps once.
//!
//! A round runs every work once. All reported rounds are enqueued on the stream before the host waits, so that the device never
//! idles between an event and the work that it times: the flush of the cache, which is not timed, takes longer than the host
//! needs to enqueue the following work.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use cudarc::driver::result;
use cudarc::driver::sys;
use hx_worker::protocol::{GemmRequest, RemoteError, Step, TimePlan, Work};

use crate::cublaslt::{Cublas, Gemm, WORKSPACE_BYTES};
use crate::fault::{bad, fault};
use crate::flush::{Flush, Reader};
use crate::gpu::Gpu;
use crate::launch::{Prepared, prepare};
use crate::memory::DeviceMemory;

/// A step with everything that it needs to run.
enum Ready {
    Launch(Box<Prepared>),
    Gemm(Box<Gemm>),
    Copy { from: sys::CUdeviceptr, to: sys::CUdeviceptr, bytes: usize },
    Read { reader: Rc<Reader>, from: sys::CUdeviceptr, bytes: u64 },
}

impl Ready {
    fn start(&mut self, stream: sys::CUstream) -> Result<(), RemoteError> {
        match self {
            Ready::Launch(prepared) => prepared.start(stream),
            Ready::Gemm(gemm) => gemm.start(stream),
            Ready::Copy { from, to, bytes } => {
                // SAFETY: both ranges were checked to lie inside of live memory that outlives the stream's work.
                unsafe { result::memcpy_dtod_async(*to, *from, *bytes, stream) }
                    .map_err(|error| fault("copying device memory", error))
            }
            Ready::Read { reader, from, bytes } => {
                // SAFETY: the range was checked to lie inside of live memory that outlives the stream's work.
                unsafe { reader.start(*from, *bytes, stream) }
                    .map_err(|error| fault("reading device memory", error))
            }
        }
    }

    fn what(&self) -> String {
        match self {
            Ready::Launch(prepared) => format!("running `{}`", prepared.symbol()),
            Ready::Gemm(_) => "running a matrix product of cuBLASLt".to_owned(),
            Ready::Copy { .. } => "copying device memory".to_owned(),
            Ready::Read { .. } => "reading device memory".to_owned(),
        }
    }
}

/// Runs steps once, and waits for each, so that a fault names its step.
pub(crate) fn run(
    gpu: &mut Gpu,
    resident: &BTreeMap<u64, DeviceMemory>,
    steps: &[Step],
    blobs: &[Vec<u8>],
) -> Result<(), RemoteError> {
    let mut ready = prepare_steps(gpu, resident, steps, blobs, &mut None)?;
    run_each(&mut ready)
}

fn run_each(steps: &mut [Ready]) -> Result<(), RemoteError> {
    let stream = result::stream::null();
    for step in steps {
        step.start(stream)?;
        wait(stream, &step.what())?;
    }
    Ok(())
}

/// Times works by the plan. Returns the milliseconds of each work's runs.
pub(crate) fn time(
    gpu: &mut Gpu,
    resident: &BTreeMap<u64, DeviceMemory>,
    works: &[Work],
    plan: &TimePlan,
    blobs: &[Vec<u8>],
) -> Result<Vec<Vec<f32>>, RemoteError> {
    let mut ready = Vec::with_capacity(works.len());
    // All reads share one loaded kernel.
    let mut reader = None;
    for work in works {
        if work.variants.is_empty() {
            return Err(bad("a work without steps to time"));
        }
        let variants =
            work.variants.iter().map(|steps| prepare_steps(gpu, resident, steps, blobs, &mut reader));
        ready.push(variants.collect::<Result<Vec<_>, _>>()?);
    }
    let flush = if plan.flush_l2 { Some(Flush::new(gpu)?) } else { None };
    // The first round waits for each step, so that a fault names its step and all code is loaded.
    for variant in ready.iter_mut().flatten() {
        run_each(variant)?;
    }
    let round_ms = warm_up(&mut ready, flush.as_ref(), plan)?;
    report(&mut ready, flush.as_ref(), plan.rounds(round_ms))
}

/// Runs unreported rounds. Returns the milliseconds of the fastest on the host's clock.
fn warm_up(
    works: &mut [Vec<Vec<Ready>>],
    flush: Option<&Flush>,
    plan: &TimePlan,
) -> Result<f64, RemoteError> {
    let stream = result::stream::null();
    let begin = Instant::now();
    let elapsed = || begin.elapsed().as_secs_f64() * 1e3;
    let mut rounds = 0u32;
    let mut round_ms = f64::INFINITY;
    loop {
        let before = elapsed();
        for work in works.iter_mut() {
            let variants = work.len();
            for step in &mut work[rounds as usize % variants] {
                step.start(stream)?;
            }
            flush.map_or(Ok(()), |flush| flush.start(stream))?;
        }
        wait(stream, "warming up")?;
        rounds += 1;
        // The clocks rise meanwhile, so the fastest round is the best estimate for the following ones.
        round_ms = round_ms.min(elapsed() - before);
        let warm = rounds >= plan.warmup && elapsed() >= f64::from(plan.warmup_ms);
        if warm || elapsed() >= f64::from(plan.budget_ms.max(plan.warmup_ms)) {
            return Ok(round_ms);
        }
    }
}

fn report(
    works: &mut [Vec<Vec<Ready>>],
    flush: Option<&Flush>,
    rounds: u32,
) -> Result<Vec<Vec<f32>>, RemoteError> {
    let stream = result::stream::null();
    let mut events = Events::default();
    for round in 0..rounds {
        for work in works.iter_mut() {
            flush.map_or(Ok(()), |flush| flush.start(stream))?;
            let [start, stop] = events.pair()?;
            record(start, stream)?;
            let variants = work.len();
            for step in &mut work[round as usize % variants] {
                step.start(stream)?;
            }
            record(stop, stream)?;
        }
    }
    wait(stream, "timing")?;
    let mut times = vec![Vec::with_capacity(rounds as usize); works.len()];
    for (at, [start, stop]) in events.pairs.iter().enumerate() {
        // SAFETY: both events were recorded on the stream, which was waited for.
        let ms = unsafe { result::event::elapsed(*start, *stop) };
        times[at % works.len()].push(ms.map_err(|error| fault("reading a time", error))?);
    }
    Ok(times)
}

fn record(event: sys::CUevent, stream: sys::CUstream) -> Result<(), RemoteError> {
    // SAFETY: the event is live and of the current context.
    unsafe { result::event::record(event, stream) }.map_err(|error| fault("recording an event", error))
}

fn wait(stream: sys::CUstream, during: &str) -> Result<(), RemoteError> {
    // SAFETY: the stream is that of the current context.
    unsafe { result::stream::synchronize(stream) }.map_err(|error| fault(during, error))
}

/// Pairs of events. They are destroyed when dropped.
#[derive(Default)]
struct Events {
    pairs: Vec<[sys::CUevent; 2]>,
    /// The first event of a pair whose second could not be created.
    single: Option<sys::CUevent>,
}

impl Events {
    fn pair(&mut self) -> Result<[sys::CUevent; 2], RemoteError> {
        let create = || {
            let kind = sys::CUevent_flags::CU_EVENT_DEFAULT;
            result::event::create(kind).map_err(|error| fault("making an event", error))
        };
        let first = create()?;
        self.single = Some(first);
        let pair = [first, create()?];
        self.single = None;
        self.pairs.push(pair);
        Ok(pair)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        for event in self.pairs.iter().flatten().copied().chain(self.single) {
            // SAFETY: the event was made by `pair` and is destroyed only here; an event that still waits for its
            // record is released when that is done.
            let _ = unsafe { result::event::destroy(event) };
        }
    }
}

fn prepare_steps(
    gpu: &mut Gpu,
    resident: &BTreeMap<u64, DeviceMemory>,
    steps: &[Step],
    blobs: &[Vec<u8>],
    reader: &mut Option<Rc<Reader>>,
) -> Result<Vec<Ready>, RemoteError> {
    let memory = |buffer: &u64| resident.get(buffer).ok_or_else(|| bad("no such buffer"));
    let mut ready = Vec::with_capacity(steps.len());
    for step in steps {
        ready.push(match step {
            Step::Launch(request) if request.device != gpu.info.ordinal => {
                return Err(bad("a step for another device"));
            }
            Step::Launch(request) => Ready::Launch(Box::new(prepare(gpu, resident, request, blobs)?)),
            Step::Gemm(request) => {
                let matrices =
                    [memory(&request.a.buffer)?, memory(&request.b.buffer)?, memory(&request.c.buffer)?];
                Ready::Gemm(Box::new(prepare_gemm(gpu, request, matrices)?))
            }
            Step::Copy { from, to, bytes } => {
                let (from, to) = (memory(from)?, memory(to)?);
                if *bytes > from.bytes().min(to.bytes()) {
                    return Err(bad("a copy past the end of a buffer"));
                }
                let size = usize::try_from(*bytes).map_err(|_| bad("a copy past the address space"))?;
                Ready::Copy { from: from.address(), to: to.address(), bytes: size }
            }
            Step::Read { from, bytes } => {
                let from = memory(from)?;
                if *bytes > from.bytes() {
                    return Err(bad("a read past the end of a buffer"));
                }
                if reader.is_none() {
                    *reader = Reader::load(gpu).map(Rc::new);
                }
                let reader =
                    reader.clone().ok_or_else(|| bad("the driver does not translate the reading kernel"))?;
                Ready::Read { reader, from: from.address(), bytes: *bytes }
            }
        });
    }
    Ok(ready)
}

fn prepare_gemm(
    gpu: &mut Gpu,
    request: &GemmRequest,
    matrices: [&DeviceMemory; 3],
) -> Result<Gemm, RemoteError> {
    if gpu.cublas.is_none() {
        let workspace = gpu.alloc(WORKSPACE_BYTES)?;
        gpu.cublas = Some(Cublas::load(&request.library, workspace)?);
    }
    match &gpu.cublas {
        Some(cublas) if cublas.path() == request.library => cublas.prepare(request, matrices),
        Some(cublas) => Err(bad(&format!("this worker has loaded `{}` already", cublas.path().display()))),
        None => Err(bad("the matrix library is gone")),
    }
}

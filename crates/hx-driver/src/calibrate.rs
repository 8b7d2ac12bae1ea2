//! Measures a GPU with the probes of `hx-calibrate`.

use std::time::Duration;

use hx_base::codes;
use hx_calibrate::{Blocks, CLOCK_SYMBOL, CLOCK_TEXT, DATA_BYTES, MapShape, Probe, Results, probes, source};
use hx_dtype::DType;
use hx_host::HostError;
use hx_worker::{Arg, Buffer, CompileError, CompileJob, Compiled, Launch, Limits, TensorMap, WorkerError};
use rayon::prelude::*;

use hx_inspect::absence_error;
use hx_launch::{Cuda, Gpu, Machine};

/// Time limit of one compile, and of one launch: the longest takes some milliseconds.
const COMPILE_LIMIT: Duration = Duration::from_secs(120);
const LAUNCH_LIMIT: Duration = Duration::from_secs(20);
/// The number of launches of each length, whose median counts.
const REPEATS: usize = 7;

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    pub results: Results,
    /// The probes that failed, each with the reason.
    pub failed: Vec<(String, String)>,
}

/// Compiles the probes for a machine, several at a time, and returns the code of each group. Code in the cache is not compiled again.
///
/// # Errors
/// If the machine is no GPU and no compiler, if the CUDA compiler is missing, or if it refuses a probe.
pub fn compile_probes(machine: &Machine) -> Result<Vec<(Vec<Probe>, Compiled)>, HostError> {
    let cuda: &Cuda = match machine {
        Machine::Gpu(gpu) => &gpu.cuda,
        Machine::CompileOnly(cuda) => cuda,
        Machine::Simulator { .. } | Machine::TextOnly(_) => {
            return Err(HostError::new(&codes::NO_GPU, "the probes measure a GPU, and there is none here"));
        }
    };
    let target = cuda.target;
    if matches!(machine, Machine::CompileOnly(_)) {
        // `hx bench --estimates` measures the clock with this kernel.
        let job = CompileJob::of_kernel(CLOCK_TEXT, CLOCK_SYMBOL, target.name());
        cuda.compilers.compile(&job, &Limits::within(COMPILE_LIMIT)).map_err(compile_error)?;
    }
    let groups = probes(target).into_par_iter().enumerate().map(|(at, group)| {
        let job = CompileJob::new(source(&group), format!("probes-{at}.cu"), target.name());
        let outcome = cuda.compilers.compile(&job, &Limits::within(COMPILE_LIMIT)).map_err(compile_error)?;
        cuda.warn(outcome.cache_warnings.iter().map(ToString::to_string));
        Ok((group, outcome.compiled))
    });
    groups.collect()
}

fn compile_error(error: CompileError) -> HostError {
    match error {
        CompileError::Absent(absence) => absence_error(&absence),
        CompileError::Refused { file_name, log, .. } => {
            let text = format!("the CUDA compiler refused the probes of `{file_name}`");
            let shown = log.lines().filter(|line| line.contains("error")).take(3);
            shown.fold(HostError::new(&codes::INTERNAL_ERROR, text), |e, line| e.note(line.trim()))
        }
        CompileError::Worker(error) => HostError::new(&codes::WORKER_CRASHED, error.to_string()),
    }
}

/// Runs the probes on a GPU. `stop` ends the run early, with the results until then. `tell` gets each probe with its figure in
/// the probe's unit, or the reason why it failed, and the units of other work that ran beside it in a cycle.
pub fn calibrate(
    gpu: &Gpu,
    compiled: &[(Vec<Probe>, Compiled)],
    stop: &dyn Fn() -> bool,
    mut tell: impl FnMut(&Probe, Result<f64, &str>, Option<f64>),
) -> Calibration {
    let mut run = Run { gpu, data: None, stop };
    let mut out = Calibration::default();
    for (group, code) in compiled {
        for probe in group {
            if stop() {
                return out;
            }
            match run.measure(probe, code) {
                Ok((value, beside)) => {
                    tell(probe, Ok(value), beside);
                    out.results.figures.insert(probe.name.clone(), value);
                    if let Some(beside) = beside {
                        out.results.figures.insert(format!("{}, its bytes", probe.name), beside);
                    }
                }
                Err(reason) => {
                    tell(probe, Err(&reason), None);
                    out.failed.push((probe.name.clone(), reason));
                }
            }
        }
    }
    out
}

struct Run<'a> {
    gpu: &'a Gpu,
    /// The memory of the probes, as long as its worker lives.
    data: Option<Buffer>,
    stop: &'a dyn Fn() -> bool,
}

impl Run<'_> {
    /// Returns the median figure of a probe, in the probe's unit. If other work ran beside it, also returns the units of that
    /// work in a cycle, such as bytes.
    fn measure(&mut self, probe: &Probe, code: &Compiled) -> Result<(f64, Option<f64>), String> {
        self.launch(probe, code, probe.rounds[0])?;
        let mut samples = [Vec::new(), Vec::new()];
        let mut beside = Vec::new();
        for _ in 0..REPEATS {
            for (of, rounds) in samples.iter_mut().zip(probe.rounds) {
                let [cycles, others] = self.launch(probe, code, rounds)?;
                of.push(cycles);
                beside.extend(probe.beside.map(|units| others * units / cycles));
            }
        }
        let value = probe.value(samples.map(|mut all| median(&mut all)));
        Ok((value, probe.beside.map(|_| median(&mut beside))))
    }

    fn launch(&mut self, probe: &Probe, code: &Compiled, rounds: u32) -> Result<[f64; 2], String> {
        let ran = self.launched(probe, code, rounds);
        let clocks = ran.map_err(|error| {
            // A fault of the device ends the worker, and its memory is lost.
            self.data = None;
            error.to_string()
        })?;
        Probe::elapsed(&clocks).ok_or_else(|| "no warp wrote its clock".to_owned())
    }

    fn launched(&mut self, probe: &Probe, code: &Compiled, rounds: u32) -> Result<Vec<u8>, WorkerError> {
        let limits = Limits { deadline: LAUNCH_LIMIT, cancelled: self.stop };
        let device = self.gpu.info.ordinal;
        let mut worker = self.gpu.cuda.worker();
        let data = match self.data {
            Some(data) => data,
            None => *self.data.insert(worker.alloc(device, DATA_BYTES, &limits)?),
        };
        let blocks = match probe.blocks {
            Blocks::One => probe.cluster,
            Blocks::All => self.gpu.info.multiprocessors / probe.cluster * probe.cluster,
        };
        let zeros = vec![0; Probe::clock_bytes(blocks)];
        let rounds = i32::try_from(rounds).unwrap_or(i32::MAX);
        let mut args = vec![
            Arg::Buffer { data: &zeros, writable: true },
            Arg::Resident { buffer: data, offset: 0 },
            Arg::i32(rounds),
            Arg::i32(1),
        ];
        args.extend(probe.map.map(|shape| Arg::TensorMap(map(shape))));
        let launch = Launch {
            device,
            cubin: &code.code,
            symbol: &probe.symbol,
            grid: [blocks, 1, 1],
            cluster: [probe.cluster, 1, 1],
            threads: probe.threads,
            shared_bytes: probe.shared_bytes,
            waits_for_previous: false,
            args,
        };
        let mut result = worker.launch(&launch, &limits)?;
        Ok(result.outputs.remove(&0).unwrap_or_default())
    }
}

/// Returns the tensor map of a probe over the data, which argument 1 passes.
fn map(shape: MapShape) -> TensorMap {
    TensorMap {
        dims: vec![i64::from(MapShape::COLUMNS), i64::try_from(shape.rows).unwrap_or(i64::MAX)],
        strides: vec![i64::from(MapShape::ROW_BYTES)],
        extents: vec![MapShape::COLUMNS, shape.extent],
        swizzle: MapShape::ROW_BYTES,
        ..TensorMap::plain(1, "data", DType::F16)
    }
}

fn median(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

//! Prepared launches: the parameters as bytes, and the offsets at which the addresses and numbers of a call go into them.

use std::sync::{Arc, Mutex};

use hx_base::codes;
use hx_dtype::DType;
use hx_launch::{DirectLaunch, DirectParam, PreparedLaunch, Values, float_bytes, may_share, number_bytes};
use hx_runtime::direct::{Kernel, Params};
use hx_worker::RemoteError;
use rustc_hash::FxHashMap;

use crate::arguments::Argument;
use crate::errors::{Class, Problem};
use crate::gpu::{Gpu, Gpus};
use crate::lock::lock;

/// The largest number of encoded tensor maps that a launch keeps for each parameter. Above it, all are dropped and encoded again.
const MOST_MAPS: usize = 256;

/// A prepared launch of a kernel, for all calls with the same form and the same facts.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Name of the kernel in its text.
    name: Arc<str>,
    /// The positions of the arguments that the kernel writes.
    pub(crate) written: Vec<usize>,
    /// Pairs `[input, output]` of positions of arguments that may be the same tensor.
    in_place: Vec<[usize; 2]>,
    /// `None` for the simulator.
    loaded: Option<Loaded>,
}

/// A kernel that is loaded on a GPU.
#[derive(Debug)]
struct Loaded {
    gpu: Arc<Gpu>,
    kernel: Arc<Kernel>,
    /// Whether each launch waits until the kernel has ended, as `CUDA_LAUNCH_BLOCKING=1` requests.
    is_blocking: bool,
}

/// A plan with the shapes of a call.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) plan: Arc<Plan>,
    /// `None` for the simulator.
    on_gpu: Option<OnGpu>,
}

#[derive(Debug)]
struct OnGpu {
    /// The bytes of the parameters. Those of addresses, numbers, tensor maps and the log are overwritten in each launch.
    params: Params,
    grid: [u32; 3],
    /// For each pointer among the parameters: its offset in bytes, and the position of its argument.
    tensors: Vec<(usize, usize)>,
    /// For each number among the parameters: its offset in bytes, the position of its argument, and its element type.
    numbers: Vec<(usize, usize, DType)>,
    maps: Vec<Map>,
    /// The offset in bytes of the pointer to the buffer for prints and assertions, and the buffer's initial contents.
    log: Option<(usize, Vec<u8>)>,
}

/// A tensor map among the parameters: its offset in bytes, the position of its argument, and its encoded bytes for each address
/// of that argument since they were last dropped.
#[derive(Debug)]
struct Map {
    offset: usize,
    arg: usize,
    map: hx_worker::TensorMap,
    encoded: Mutex<FxHashMap<u64, Vec<u8>>>,
}

impl Plan {
    /// Makes the plan of launches on the simulator.
    pub(crate) fn simulated(prepared: &PreparedLaunch) -> Plan {
        Plan {
            name: prepared.kernel.as_str().into(),
            written: prepared.written.clone(),
            in_place: prepared.in_place.clone(),
            loaded: None,
        }
    }

    /// Loads the kernel of a launch on a GPU.
    pub(crate) fn loaded(gpus: &Gpus, gpu: &Arc<Gpu>, launch: &DirectLaunch) -> Result<Plan, Problem> {
        let kernel = gpu.load(gpus, launch)?;
        let is_blocking = std::env::var_os("CUDA_LAUNCH_BLOCKING").is_some_and(|value| value == "1");
        let loaded = Some(Loaded { gpu: Arc::clone(gpu), kernel, is_blocking });
        Ok(Plan { loaded, ..Plan::simulated(&launch.prepared) })
    }

    /// Refuses arguments if a written one shares memory with another; see [`overlaps`].
    pub(crate) fn check_overlaps(
        &self,
        args: &[Argument<'_>],
        names: &dyn Fn(usize) -> String,
    ) -> Result<(), Problem> {
        overlaps(&self.written, &self.in_place, args, names)
    }
}

impl Ready {
    /// Lays out the parameters of a launch with these values.
    pub(crate) fn new(gpus: &Gpus, plan: &Arc<Plan>, values: Values) -> Result<Ready, Problem> {
        let plan = Arc::clone(plan);
        let Some(Loaded { kernel, .. }) = &plan.loaded else { return Ok(Ready { plan, on_gpu: None }) };
        let bytes: Vec<Vec<u8>> = values
            .params
            .iter()
            .map(|param| match param {
                DirectParam::Tensor { .. } | DirectParam::Log(_) => vec![0; 8],
                DirectParam::Map { .. } => vec![0; 128],
                DirectParam::Scalar { dtype, .. } => vec![0; hx_dtype::packed_bytes(*dtype, 1)],
                DirectParam::Value(bytes) => bytes.clone(),
            })
            .collect();
        let laid = kernel.params(bytes.iter().map(Vec::as_slice));
        let (params, offsets) = laid.map_err(|error| gpus.failed(&error))?;
        let mut ready = OnGpu {
            params,
            grid: values.grid,
            tensors: Vec::new(),
            numbers: Vec::new(),
            maps: Vec::new(),
            log: None,
        };
        for (param, offset) in values.params.into_iter().zip(offsets) {
            match param {
                DirectParam::Tensor { arg } => ready.tensors.push((offset, arg)),
                DirectParam::Scalar { arg, dtype } => ready.numbers.push((offset, arg, dtype)),
                DirectParam::Value(_) => {}
                DirectParam::Map { arg, map } => {
                    ready.maps.push(Map { offset, arg, map, encoded: Mutex::default() });
                }
                DirectParam::Log(contents) => ready.log = Some((offset, contents)),
            }
        }
        Ok(Ready { plan, on_gpu: Some(ready) })
    }

    /// Makes a stream wait for everything that the streams of `producers` have now. Does nothing on the simulator.
    pub(crate) fn wait_for(
        &self,
        gpus: &Gpus,
        producers: impl Iterator<Item = u64>,
        stream: u64,
    ) -> Result<(), Problem> {
        let Some(Loaded { gpu, .. }) = &self.plan.loaded else { return Ok(()) };
        for producer in producers {
            gpu.device.order(producer, stream).map_err(|error| gpus.failed(&error))?;
        }
        Ok(())
    }

    /// Enqueues the kernel on a stream. If it prints or asserts, waits for it and returns the contents of its log buffer;
    /// otherwise returns `None`. Does nothing on the simulator.
    pub(crate) fn launch(
        &self,
        gpus: &Gpus,
        args: &[Argument<'_>],
        stream: u64,
    ) -> Result<Option<Vec<u8>>, Problem> {
        let (Some(Loaded { gpu, kernel, is_blocking }), Some(ready)) = (&self.plan.loaded, &self.on_gpu)
        else {
            return Ok(None);
        };
        let failed = |error: RemoteError| gpus.failed(&error);
        let mut params = ready.filled(gpu, args).map_err(failed)?;
        gpus.launched(&self.plan.name);
        let Some((offset, contents)) = &ready.log else {
            kernel.launch(&mut params, ready.grid, stream).map_err(failed)?;
            if *is_blocking && !gpu.device.is_captured(stream).map_err(failed)? {
                gpu.device.wait(stream).map_err(failed)?;
            }
            return Ok(None);
        };
        if gpu.device.is_captured(stream).map_err(failed)? {
            let text = format!(
                "`{}` prints or asserts, so its launch waits for it, and cannot be captured into a graph",
                self.plan.name
            );
            return Err(Problem::new(Class::Launch, &codes::LAUNCH_FAILED, text));
        }
        let logged = gpu.device.with_buffer(contents, stream, |log| {
            params.write(*offset, &log.to_le_bytes());
            kernel.launch(&mut params, ready.grid, stream)
        });
        logged.map(Some).map_err(failed)
    }
}

impl OnGpu {
    /// Returns the parameters with the addresses and numbers of a call.
    fn filled(&self, gpu: &Gpu, args: &[Argument<'_>]) -> Result<Params, RemoteError> {
        let mut params = self.params.clone();
        let address =
            |arg: usize| args.get(arg).and_then(Argument::memory).map_or(0, |memory| memory.address);
        for (offset, arg) in &self.tensors {
            params.write(*offset, &address(*arg).to_le_bytes());
        }
        for (offset, arg, dtype) in &self.numbers {
            match args.get(*arg) {
                Some(Argument::Float(value)) => params.write(*offset, &float_bytes(*dtype, *value)),
                Some(Argument::Int(value)) => params.write(*offset, &number_bytes(*dtype, *value)),
                Some(Argument::Bool(value)) => {
                    params.write(*offset, &number_bytes(*dtype, i64::from(*value)))
                }
                Some(Argument::Device { .. } | Argument::Host { .. } | Argument::Fake) | None => {}
            }
        }
        for map in &self.maps {
            let address = address(map.arg);
            let mut encoded = lock(&map.encoded);
            if !encoded.contains_key(&address) {
                if encoded.len() >= MOST_MAPS {
                    encoded.clear();
                }
                encoded.insert(address, gpu.device.map(&map.map, address)?);
            }
            params.write(map.offset, &encoded[&address]);
        }
        Ok(params)
    }
}

/// Refuses arguments if one of `written` shares memory with another argument. The two arguments of a pair `[input, output]` of
/// `in_place` may be exactly the same memory.
pub(crate) fn overlaps(
    written: &[usize],
    in_place: &[[usize; 2]],
    args: &[Argument<'_>],
    names: &dyn Fn(usize) -> String,
) -> Result<(), Problem> {
    for &at in written {
        let Some(mine) = args.get(at).and_then(Argument::memory) else { continue };
        for (other, theirs) in args.iter().enumerate() {
            let Some(theirs) = theirs.memory().filter(|_| other != at) else { continue };
            let (ours, others) = (mine.region(), theirs.region());
            if !may_share(&ours, &others) || in_place.contains(&[other, at]) && ours.is_same(&others) {
                continue;
            }
            let text = format!(
                "the arguments for `{}` and `{}` share memory, and the kernel writes `{}`",
                names(at.min(other)),
                names(at.max(other)),
                names(at)
            );
            return Err(Problem::new(Class::Launch, &codes::OVERLAPPING_ARGUMENTS, text));
        }
    }
    Ok(())
}

//! Prepared launches on a GPU: the parameters as bytes, and the offsets at which the addresses and floats of a call go into
//! them.

use std::sync::{Arc, Mutex};

use hx_base::codes;
use hx_dtype::DType;
use hx_launch::{DirectLaunch, DirectParam, may_share};
use hx_runtime::direct::{Kernel, Params};
use hx_worker::RemoteError;
use rustc_hash::FxHashMap;

use crate::arguments::Argument;
use crate::errors::{Class, Problem};
use crate::gpu::{Gpu, Gpus};
use crate::lock::lock;

/// The largest number of encoded tensor maps that a plan keeps for each parameter. Above it, all are dropped and encoded again.
const MOST_MAPS: usize = 256;

/// A prepared launch of a kernel, for all calls with the same key.
#[derive(Debug)]
pub(crate) struct Plan {
    gpu: Arc<Gpu>,
    kernel: Arc<Kernel>,
    /// Name of the kernel in its text.
    name: Arc<str>,
    /// The bytes of the parameters. Those of addresses, floats, tensor maps and the log are overwritten in each launch.
    params: Params,
    grid: [u32; 3],
    /// For each pointer among the parameters: its offset in bytes, and the position of its argument.
    tensors: Vec<(usize, usize)>,
    /// For each float parameter: its offset in bytes, the position of its argument, and its element type.
    floats: Vec<(usize, usize, DType)>,
    maps: Vec<Map>,
    /// The offset in bytes of the pointer to the buffer for prints and assertions, and the buffer's initial contents.
    log: Option<(usize, Vec<u8>)>,
    /// The positions of the arguments that the kernel writes.
    written: Vec<usize>,
    /// Pairs `[input, output]` of positions of arguments that may be the same tensor.
    in_place: Vec<[usize; 2]>,
    /// Whether each launch waits until the kernel has ended, as `CUDA_LAUNCH_BLOCKING=1` requests.
    is_blocking: bool,
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
    /// Loads the kernel of a launch, and computes the offsets of its parameters. `args` has an entry for each argument: the
    /// kind of a number, `None` for a tensor.
    pub(crate) fn new(
        gpus: &Gpus,
        gpu: &Arc<Gpu>,
        launch: DirectLaunch,
        args: &[Option<Number>],
    ) -> Result<Plan, Problem> {
        let kernel = gpu.load(gpus, &launch)?;
        let values: Vec<Vec<u8>> = launch
            .params
            .iter()
            .map(|param| match param {
                DirectParam::Tensor { .. } | DirectParam::Log(_) => vec![0; 8],
                DirectParam::Map { .. } => vec![0; 128],
                DirectParam::Scalar { bytes, .. } | DirectParam::Value(bytes) => bytes.clone(),
            })
            .collect();
        let laid = kernel.params(values.iter().map(Vec::as_slice));
        let (params, offsets) = laid.map_err(|error| gpus.failed(&error))?;
        let mut plan = Plan {
            gpu: Arc::clone(gpu),
            kernel,
            name: launch.kernel.into(),
            params,
            grid: launch.grid,
            tensors: Vec::new(),
            floats: Vec::new(),
            maps: Vec::new(),
            log: None,
            written: launch.written,
            in_place: launch.in_place,
            is_blocking: std::env::var_os("CUDA_LAUNCH_BLOCKING").is_some_and(|value| value == "1"),
        };
        for (param, offset) in launch.params.into_iter().zip(offsets) {
            match param {
                DirectParam::Tensor { arg } => plan.tensors.push((offset, arg)),
                DirectParam::Scalar { arg, dtype, .. } => {
                    if matches!(args.get(arg), Some(Some(Number::Float))) {
                        plan.floats.push((offset, arg, dtype));
                    }
                }
                DirectParam::Value(_) => {}
                DirectParam::Map { arg, map } => {
                    plan.maps.push(Map { offset, arg, map, encoded: Mutex::default() });
                }
                DirectParam::Log(contents) => plan.log = Some((offset, contents)),
            }
        }
        Ok(plan)
    }

    /// Refuses arguments if a written one shares memory with another; see [`overlaps`].
    pub(crate) fn check_overlaps(
        &self,
        args: &[Argument<'_>],
        names: &dyn Fn(usize) -> String,
    ) -> Result<(), Problem> {
        overlaps(&self.written, &self.in_place, args, names)
    }

    /// Enqueues the kernel on a stream. If it prints or asserts, waits for it and returns the contents of its log buffer;
    /// otherwise returns `None`.
    pub(crate) fn launch(
        &self,
        gpus: &Gpus,
        args: &[Argument<'_>],
        stream: u64,
    ) -> Result<Option<Vec<u8>>, Problem> {
        let mut params = self.params.clone();
        let address =
            |arg: usize| args.get(arg).and_then(Argument::memory).map_or(0, |memory| memory.address);
        for (offset, arg) in &self.tensors {
            params.write(*offset, &address(*arg).to_le_bytes());
        }
        for (offset, arg, dtype) in &self.floats {
            if let Some(Argument::Float(value)) = args.get(*arg) {
                let bits = dtype.encode(*value).to_le_bytes();
                params.write(*offset, &bits[..hx_dtype::packed_bytes(*dtype, 1)]);
            }
        }
        let failed = |error: RemoteError| gpus.failed(&error);
        for map in &self.maps {
            let address = address(map.arg);
            let mut encoded = lock(&map.encoded);
            if !encoded.contains_key(&address) {
                if encoded.len() >= MOST_MAPS {
                    encoded.clear();
                }
                encoded.insert(address, self.gpu.device.map(&map.map, address).map_err(failed)?);
            }
            params.write(map.offset, &encoded[&address]);
        }
        gpus.launched(&self.name);
        let Some((offset, contents)) = &self.log else {
            self.kernel.launch(&mut params, self.grid, stream).map_err(failed)?;
            if self.is_blocking && !self.gpu.device.is_captured(stream).map_err(failed)? {
                self.gpu.device.wait(stream).map_err(failed)?;
            }
            return Ok(None);
        };
        if self.gpu.device.is_captured(stream).map_err(failed)? {
            let text = format!(
                "`{}` prints or asserts, so its launch waits for it, and cannot be captured into a graph",
                self.name
            );
            return Err(Problem::new(Class::Launch, &codes::LAUNCH_FAILED, text));
        }
        let logged = self.gpu.device.with_buffer(contents, stream, |log| {
            params.write(*offset, &log.to_le_bytes());
            self.kernel.launch(&mut params, self.grid, stream)
        });
        logged.map(Some).map_err(failed)
    }
}

/// The type of a number among the arguments. Floats are filled in at each launch; integers are part of the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    Int,
    Float,
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

//! Launches a kernel: checks the arguments against the kernel's declaration, then runs it.
//!
//! The checks make a launch sound on the host's side: the driver reads as many parameter bytes as the kernel declares, however
//! many it is given. The kernel's use of its pointers cannot be checked; at worst it ends in a fault, which is reported to the
//! client.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};

use cudarc::driver::result;
use cudarc::driver::sys;
use hx_worker::protocol::{Blob, LaunchRequest, RemoteError, WireArg};

use crate::enqueue::{self, Shape, declared};
use crate::fault::{bad, fault};
use crate::gpu::Gpu;
use crate::memory::DeviceMemory;

/// The blob of each argument that is sent back.
pub(crate) type Outputs = BTreeMap<usize, Blob>;

/// A kernel that is ready to run, with the memory of its buffers.
pub(crate) struct Prepared {
    symbol: String,
    function: sys::CUfunction,
    params: Vec<ParamBytes>,
    grid: [u32; 3],
    shape: Shape,
    /// Fresh memory, keyed by the position of its argument, and whether it is read back.
    fresh: BTreeMap<usize, (DeviceMemory, bool)>,
}

/// The bytes of a parameter, with the strictest alignment of any parameter.
struct ParamBytes {
    chunks: Vec<Chunk>,
    size: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Chunk([u8; 64]);

impl ParamBytes {
    fn new(bytes: &[u8]) -> ParamBytes {
        let mut chunks = vec![Chunk([0; 64]); bytes.len().div_ceil(64).max(1)];
        for (chunk, part) in chunks.iter_mut().zip(bytes.chunks(64)) {
            chunk.0[..part.len()].copy_from_slice(part);
        }
        ParamBytes { chunks, size: bytes.len() }
    }

    /// Returns the pointer that the parameter is, if it has the size of one.
    fn address(&self) -> Option<u64> {
        let bytes = self.chunks.first()?.0;
        (self.size == 8).then(|| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| bytes[i])))
    }
}

/// Runs a kernel once. Returns the writable buffers as blobs, and the time in milliseconds.
pub(crate) fn launch(
    gpu: &mut Gpu,
    resident: &BTreeMap<u64, DeviceMemory>,
    request: &LaunchRequest,
    blobs: &[Vec<u8>],
) -> Result<(Outputs, Vec<Vec<u8>>, f32), RemoteError> {
    let mut prepared = prepare(gpu, resident, request, blobs)?;
    let events = gpu.events()?;
    let gpu_ms = prepared.run(events)?;
    let mut outputs = Outputs::new();
    let mut results = Vec::new();
    for (arg, (memory, writable)) in &prepared.fresh {
        if *writable {
            outputs.insert(*arg, results.len());
            results.push(memory.read(0, memory.bytes())?);
        }
    }
    Ok((outputs, results, gpu_ms))
}

/// Looks the kernel up, checks its arguments, and allocates and fills its fresh buffers.
pub(crate) fn prepare(
    gpu: &mut Gpu,
    resident: &BTreeMap<u64, DeviceMemory>,
    request: &LaunchRequest,
    blobs: &[Vec<u8>],
) -> Result<Prepared, RemoteError> {
    let symbol = &request.symbol;
    let cubin = request.cubin.map(|blob| blob_of(blobs, blob)).transpose()?;
    let module = gpu.module(&request.module, cubin)?;
    let name = CString::new(symbol.as_str()).map_err(|_| bad("a kernel's name holds a zero byte"))?;
    // SAFETY: the module is loaded and stays so as long as its `Gpu`.
    let function = unsafe { result::module::get_function(module.handle, name) }
        .map_err(|error| fault(&format!("finding `{symbol}` in its code"), error))?;
    let shape = Shape {
        cluster: request.cluster,
        threads: request.threads,
        shared_bytes: request.shared_bytes,
        waits_for_previous: request.waits_for_previous,
    };
    enqueue::check(&gpu.info, function, symbol, shape)?;
    let mut params = Vec::new();
    let mut fresh = BTreeMap::new();
    for (at, arg) in request.args.iter().enumerate() {
        params.push(match arg {
            WireArg::Value { bytes } => ParamBytes::new(bytes),
            WireArg::Resident { buffer, offset } => {
                let memory = resident.get(buffer).ok_or_else(|| bad("no such buffer"))?;
                if *offset > memory.bytes() {
                    return Err(bad(&format!("argument {at} starts past the end of its buffer")));
                }
                ParamBytes::new(&(memory.address() + offset).to_le_bytes())
            }
            WireArg::TensorMap(map) => {
                let address = params.get(map.param as usize).and_then(ParamBytes::address);
                let address =
                    address.ok_or_else(|| bad(&format!("argument {at} maps no earlier pointer")))?;
                ParamBytes::new(&gpu.map(map, address)?)
            }
            WireArg::Buffer { data, writable } => {
                let data = blob_of(blobs, *data)?;
                let memory = gpu.alloc(data.len() as u64)?;
                memory.write(0, data)?;
                let param = ParamBytes::new(&memory.address().to_le_bytes());
                fresh.insert(at, (memory, *writable));
                param
            }
        });
    }
    check_params(symbol, function, &params, module.parameter_bytes.get(symbol).copied())?;
    Ok(Prepared { symbol: symbol.clone(), function, params, grid: request.grid, shape, fresh })
}

fn blob_of(blobs: &[Vec<u8>], blob: Blob) -> Result<&Vec<u8>, RemoteError> {
    blobs.get(blob).ok_or_else(|| bad("an argument without its bytes"))
}

/// Checks the parameters against the kernel's declaration, in number and size. A correct launch makes no failing call, so that
/// compute-sanitizer stays silent.
fn check_params(
    symbol: &str,
    function: sys::CUfunction,
    params: &[ParamBytes],
    declared_bytes: Option<usize>,
) -> Result<(), RemoteError> {
    let mut given_bytes = 0;
    for (at, param) in params.iter().enumerate() {
        match declared(function, at) {
            Some((offset, size)) if size == param.size => given_bytes = offset + size,
            Some((_, size)) => {
                let given = param.size;
                return Err(bad(&format!(
                    "parameter {at} of `{symbol}` has {size} bytes, it was given {given}"
                )));
            }
            None => {
                return Err(bad(&format!("`{symbol}` has {at} parameters, it was given {}", params.len())));
            }
        }
    }
    if declared_bytes.is_some_and(|bytes| bytes > given_bytes) {
        return Err(bad(&format!(
            "`{symbol}` has more than the {} parameters that it was given",
            params.len()
        )));
    }
    Ok(())
}

impl Prepared {
    /// Runs the kernel to its end. Returns the time on the device in milliseconds; 0 for an empty grid.
    fn run(&mut self, [start, stop]: [sys::CUevent; 2]) -> Result<f32, RemoteError> {
        if self.grid.contains(&0) {
            // The driver rejects an empty grid, so it is not launched.
            return Ok(0.0);
        }
        let during = self.during();
        let stream = result::stream::null();
        let failed = |error| fault(&during, error);
        // SAFETY: the events are live and of the current context.
        unsafe { result::event::record(start, stream) }.map_err(failed)?;
        self.start(stream)?;
        // SAFETY: as above; both were recorded on this stream when the time is asked.
        unsafe {
            result::event::record(stop, stream).map_err(failed)?;
            result::stream::synchronize(stream).map_err(failed)?;
            result::event::elapsed(start, stop).map_err(failed)
        }
    }

    /// Returns the name of the kernel.
    pub(crate) fn symbol(&self) -> &str {
        &self.symbol
    }

    fn during(&self) -> String {
        format!("running `{}`", self.symbol)
    }

    /// Enqueues the kernel on the stream. An empty grid, which the driver rejects, is not launched.
    pub(crate) fn start(&mut self, stream: sys::CUstream) -> Result<(), RemoteError> {
        let mut pointers: Vec<*mut c_void> =
            self.params.iter_mut().map(|param| param.chunks.as_mut_ptr().cast()).collect();
        let (pointers, no_extra) = (pointers.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: the function's module is loaded; `pointers` holds one pointer for each declared parameter, each to
        // at least as many live bytes as declared (`check_params`); the memory behind pointer parameters lives until the stream was
        // synchronized, because `self` holds it.
        unsafe { enqueue::enqueue(self.function, self.shape, self.grid, stream, pointers, no_extra) }
            .map_err(|error| fault(&self.during(), error))
    }
}

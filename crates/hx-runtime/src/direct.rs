//! Launches in the calling process, beside a library that owns the tensors and the streams, such as PyTorch.
//!
//! The worker process protects its client from faults of kernels. A launch from Python cannot go there: the tensors live in the
//! caller's process, and a message costs more than a launch. So this module launches on addresses and streams of the caller, and
//! compiles nothing.
//!
//! Contexts are the primary ones, which the CUDA runtime uses too. They are retained for the rest of the process: releasing them
//! while the caller still has tensors would free its memory.

#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use cudarc::driver::{result, sys};
use hx_tensor_map::TensorMap;
use hx_worker::protocol::{Absence, DeviceInfo, DriverInfo, RemoteError};

use crate::enqueue::{self, declared};
use crate::fault::{bad, fault};
use crate::gpu::{list_devices, load_driver};
use crate::map::{ZEROS, encode, instead_of_empty};

pub use crate::enqueue::Shape;

/// A device of this process.
#[derive(Debug)]
pub struct Device {
    info: DeviceInfo,
    driver: DriverInfo,
    context: Context,
    /// The address of zeros that stand for the elements of empty tensors in tensor maps, once one was needed.
    zeros: Mutex<Option<u64>>,
}

/// A handle of the driver that every thread may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Context(sys::CUcontext);

// SAFETY: the driver takes a context from any thread, and the context lives until the process ends.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

#[derive(Clone, Copy, Debug)]
struct Function(sys::CUfunction);

// SAFETY: the driver takes a function from any thread, and its module is never unloaded.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// A loaded kernel with the sizes of its launches.
#[derive(Debug)]
pub struct Kernel {
    symbol: String,
    context: Context,
    function: Function,
    shape: Shape,
    /// Offset and size of each parameter in bytes.
    params: Vec<(usize, usize)>,
}

/// The bytes of all parameters of a launch, each at its offset.
#[derive(Clone, Debug)]
pub struct Params(Vec<Chunk>);

/// A part of the parameters with the strictest alignment of any parameter.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Chunk([u8; 64]);

/// Returns the devices of this process, or the reason why there are none. The first call loads the driver.
///
/// # Errors
/// If the driver is missing, or it reports no device.
pub fn devices() -> Result<&'static [DeviceInfo], Absence> {
    static FOUND: OnceLock<Result<Vec<DeviceInfo>, Absence>> = OnceLock::new();
    let found = FOUND.get_or_init(|| load_driver().and_then(|_| list_devices()));
    found.as_ref().map(Vec::as_slice).map_err(Absence::clone)
}

impl Device {
    /// Opens a device by its number, and retains its primary context for the rest of the process.
    ///
    /// # Errors
    /// If there is no such device, or the driver fails.
    pub fn open(ordinal: u32) -> Result<Device, RemoteError> {
        let devices = devices().map_err(RemoteError::Absent)?;
        let driver = load_driver().map_err(RemoteError::Absent)?;
        let count = devices.len();
        let info = devices.iter().find(|info| info.ordinal == ordinal);
        let info = info.ok_or_else(|| {
            bad(&format!("there is no device {ordinal}, the devices are numbered below {count}"))
        })?;
        let during = "starting the device";
        let number = c_int::try_from(ordinal).map_err(|_| bad("no such device"))?;
        let device = result::device::get(number).map_err(|error| fault(during, error))?;
        // SAFETY: the device came from the driver just now.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(|error| fault(during, error))?;
        Ok(Device { info: info.clone(), driver, context: Context(context), zeros: Mutex::default() })
    }

    /// Returns the properties of the device.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Returns the version of the driver.
    pub fn driver(&self) -> &DriverInfo {
        &self.driver
    }

    /// Loads a kernel. It stays loaded until the process ends, because a captured graph may refer to it.
    ///
    /// # Errors
    /// If the driver refuses the code, or the device lacks the threads or the shared memory.
    pub fn load(&self, code: &[u8], symbol: &str, shape: Shape) -> Result<Kernel, RemoteError> {
        let declares = crate::image::parameter_bytes(code)
            .ok_or_else(|| bad("the kernel's code is neither a cubin nor PTX"))?;
        let _entered = Entered::new(self.context)?;
        let module = crate::image::load(code)
            .map_err(|error| fault(&format!("loading `{symbol}` on {}", self.info.name), error))?;
        let name = CString::new(symbol).map_err(|_| bad("a kernel's name holds a zero byte"))?;
        // SAFETY: the module was loaded just now and is never unloaded.
        let function = unsafe { result::module::get_function(module, name) }
            .map_err(|error| fault(&format!("finding `{symbol}` in its code"), error))?;
        enqueue::check(&self.info, function, symbol, shape)?;
        // Asking for a parameter too many is an error, which compute-sanitizer would report.
        let bytes = declares.get(symbol).copied().unwrap_or(0);
        let mut params: Vec<(usize, usize)> = Vec::new();
        while params.last().map_or(0, |(offset, size)| offset + size) < bytes {
            let param = declared(function, params.len());
            params.push(
                param.ok_or_else(|| bad(&format!("`{symbol}` declares fewer parameters than its code")))?,
            );
        }
        let (context, function, symbol) = (self.context, Function(function), symbol.to_owned());
        Ok(Kernel { symbol, context, function, shape, params })
    }

    /// Encodes the map of the tensor at `address`.
    ///
    /// # Errors
    /// If the driver refuses the map.
    pub fn map(&self, map: &TensorMap, address: u64) -> Result<Vec<u8>, RemoteError> {
        match instead_of_empty(map) {
            None => encode(map, address),
            Some(map) => encode(&map, self.zeros()?),
        }
    }

    /// Returns the address of zeros. They are never freed.
    fn zeros(&self) -> Result<u64, RemoteError> {
        let mut zeros = self.zeros.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = *zeros {
            return Ok(address);
        }
        let address = self.allocate(ZEROS as usize)?;
        let _entered = Entered::new(self.context)?;
        // SAFETY: the memory was allocated just now with that size, and its context is current.
        unsafe { result::memset_d8_sync(address, 0, ZEROS as usize) }
            .map_err(|error| fault("clearing device memory", error))?;
        Ok(*zeros.insert(address))
    }

    fn allocate(&self, bytes: usize) -> Result<u64, RemoteError> {
        let _entered = Entered::new(self.context)?;
        // SAFETY: a context is current, and the size is not zero.
        unsafe { result::malloc_sync(bytes.max(1)) }
            .map_err(|error| fault(&format!("allocating {bytes} bytes of device memory"), error))
    }

    /// Runs a launch with a buffer of its own: allocates it with these contents, hands its address to `launch`, waits for the stream,
    /// and returns the contents.
    ///
    /// # Errors
    /// If the launch or the driver fails.
    pub fn with_buffer(
        &self,
        contents: &[u8],
        stream: u64,
        launch: impl FnOnce(u64) -> Result<(), RemoteError>,
    ) -> Result<Vec<u8>, RemoteError> {
        let address = self.allocate(contents.len())?;
        let entered = Entered::new(self.context)?;
        let run = || {
            // SAFETY: the memory was allocated with that many bytes, and its context is current.
            unsafe { result::memcpy_htod_sync(address, contents) }
                .map_err(|error| fault("writing device memory", error))?;
            launch(address)?;
            self.wait(stream)?;
            let mut out = vec![0; contents.len()];
            // SAFETY: as above; the stream that writes the memory was waited for.
            unsafe { result::memcpy_dtoh_sync(&mut out, address) }
                .map_err(|error| fault("reading device memory", error))?;
            Ok(out)
        };
        let out = run();
        // SAFETY: the memory came from `allocate`, and nothing uses it after the wait. A context that is lost frees nothing.
        let _ = unsafe { result::free_sync(address) };
        drop(entered);
        out
    }

    /// Waits until everything on a stream is complete.
    ///
    /// # Errors
    /// If a kernel failed, or the stream is being captured.
    pub fn wait(&self, stream: u64) -> Result<(), RemoteError> {
        let _entered = Entered::new(self.context)?;
        // SAFETY: the caller's stream is live during the call.
        unsafe { result::stream::synchronize(stream as sys::CUstream) }
            .map_err(|error| fault("waiting for a kernel", error))
    }

    /// Makes a stream wait for everything that another stream has now. The host waits for nothing.
    ///
    /// # Errors
    /// If the driver fails, or one of the streams is being captured and the other one is not part of the capture.
    pub fn order(&self, before: u64, after: u64) -> Result<(), RemoteError> {
        // The driver's header names stream 1 CU_STREAM_LEGACY; stream 0 is the same one.
        let legacy = |stream: u64| if stream == 0 { 1 } else { stream };
        if legacy(before) == legacy(after) {
            return Ok(());
        }
        let _entered = Entered::new(self.context)?;
        let during = |error| fault("waiting for the stream of an array", error);
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(during)?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the event was made just now, and both streams are live during the call.
        let ordered = unsafe {
            result::event::record(event, legacy(before) as sys::CUstream)
                .and_then(|()| result::stream::wait_event(after as sys::CUstream, event, flags))
        };
        // SAFETY: the event came from `create`. The driver frees it when the wait is complete.
        let destroyed = unsafe { result::event::destroy(event) };
        ordered.and(destroyed).map_err(during)
    }

    /// Reports whether a stream is being captured into a graph.
    ///
    /// # Errors
    /// If the driver fails.
    pub fn is_captured(&self, stream: u64) -> Result<bool, RemoteError> {
        let _entered = Entered::new(self.context)?;
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the caller's stream is live during the call, and the result is a live place.
        unsafe { sys::cuStreamIsCapturing(stream as sys::CUstream, &raw mut status) }
            .result()
            .map_err(|error| fault("asking for a capture", error))?;
        Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }
}

impl Kernel {
    /// Lays out the parameters of a launch. Returns the bytes, and the offset of each parameter.
    ///
    /// # Errors
    /// If the kernel declares other parameters.
    pub fn params<'b>(
        &self,
        values: impl IntoIterator<Item = &'b [u8]>,
    ) -> Result<(Params, Vec<usize>), RemoteError> {
        let size = self.params.last().map_or(0, |(offset, size)| offset + size);
        let mut params = Params(vec![Chunk([0; 64]); size.div_ceil(64)]);
        let mut offsets = Vec::with_capacity(self.params.len());
        let (symbol, count) = (&self.symbol, self.params.len());
        for value in values {
            let at = offsets.len();
            match self.params.get(at) {
                Some((offset, size)) if *size == value.len() => {
                    params.write(*offset, value);
                    offsets.push(*offset);
                }
                Some((_, size)) => {
                    let given = value.len();
                    let reason =
                        format!("parameter {at} of `{symbol}` has {size} bytes, it was given {given}");
                    return Err(bad(&reason));
                }
                None => return Err(bad(&format!("`{symbol}` has {count} parameters, it was given more"))),
            }
        }
        if offsets.len() == count { Ok((params, offsets)) } else { Err(bad("a parameter is missing")) }
    }

    /// Enqueues a launch on a stream of this kernel's device, and does not wait for it. An empty grid is not launched.
    ///
    /// The kernel reads and writes the memory behind the addresses in `params` later, in the order of the stream. The owner of that
    /// memory keeps it until then, as for every kernel of its own. The kernel's use of its addresses cannot be checked here: at worst
    /// it ends in a fault of the device, which the driver reports.
    ///
    /// # Errors
    /// If the driver refuses the launch, or an earlier kernel has failed.
    pub fn launch(&self, params: &mut Params, grid: [u32; 3], stream: u64) -> Result<(), RemoteError> {
        let _entered = Entered::new(self.context)?;
        let mut size = self.params.last().map_or(0, |(offset, size)| offset + size);
        // The driver's header names these numbers CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END.
        let [buffer, buffer_size, end] = [1, 2, 0].map(std::ptr::without_provenance_mut::<c_void>);
        let mut extra =
            [buffer, params.0.as_mut_ptr().cast(), buffer_size, (&raw mut size).cast::<c_void>(), end];
        let (stream, no_pointers) = (stream as sys::CUstream, std::ptr::null_mut());
        // SAFETY: the function's module stays loaded; the buffer holds every declared parameter at its offset (`params`); `extra` ends
        // with the null that ends such lists.
        unsafe {
            enqueue::enqueue(self.function.0, self.shape, grid, stream, no_pointers, extra.as_mut_ptr())
        }
        .map_err(|error| fault(&format!("launching `{}`", self.symbol), error))
    }
}

impl Params {
    /// Replaces the bytes at an offset.
    ///
    /// # Panics
    /// If the bytes do not fit.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        for (at, byte) in (offset..).zip(bytes) {
            self.0[at / 64].0[at % 64] = *byte;
        }
    }
}

/// A context that is current on this thread until this is dropped.
struct Entered {
    /// The context that was current before, if it was another one.
    before: Option<sys::CUcontext>,
}

impl Entered {
    fn new(context: Context) -> Result<Entered, RemoteError> {
        let mut current = std::ptr::null_mut();
        // SAFETY: the result is a live place.
        unsafe { sys::cuCtxGetCurrent(&raw mut current) }
            .result()
            .map_err(|error| fault("asking for the device", error))?;
        if current == context.0 {
            return Ok(Entered { before: None });
        }
        // SAFETY: the context is retained until the process ends.
        unsafe { result::ctx::set_current(context.0) }
            .map_err(|error| fault("switching to the device", error))?;
        Ok(Entered { before: Some(current) })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // A thread without a context keeps ours: the CUDA runtime would choose the first device's otherwise, and finds this one.
        if let Some(before) = self.before.filter(|before| !before.is_null()) {
            // SAFETY: that context was current on this thread, so its owner keeps it alive.
            let _ = unsafe { result::ctx::set_current(before) };
        }
    }
}

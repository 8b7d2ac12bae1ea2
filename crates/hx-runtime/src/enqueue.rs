//! The driver calls of every launch, in the worker process and in that of a caller: the check of its sizes, and the launch itself.

#![allow(unsafe_code)]

use std::ffi::c_void;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use hx_worker::protocol::{DeviceInfo, RemoteError};

use crate::fault::{bad, fault};

/// A kernel needs an opt-in for more dynamic shared memory than this.
const SHARED_WITHOUT_ASKING: u32 = 48 << 10;

/// The sizes of a kernel's launches that its code fixes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Number of blocks of a cluster along x, y and z; `[1, 1, 1]` for none.
    pub cluster: [u32; 3],
    /// Number of threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Whether the kernel waits for earlier launches by itself, so that it may start before they are complete.
    pub waits_for_previous: bool,
}

/// Checks threads and shared memory against the limits of the kernel and the device, and raises the kernel's own limit.
///
/// # Errors
/// If a limit is exceeded, or the driver fails.
pub(crate) fn check(
    info: &DeviceInfo,
    function: sys::CUfunction,
    symbol: &str,
    shape: Shape,
) -> Result<(), RemoteError> {
    use sys::CUfunction_attribute_enum as Attribute;
    let Shape { threads, shared_bytes, .. } = shape;
    let attribute = |attribute| {
        // SAFETY: the function came from a loaded module.
        unsafe { result::function::get_function_attribute(function, attribute) }
            .map(|value| u32::try_from(value).unwrap_or(0))
            .map_err(|error| fault(&format!("asking for the limits of `{symbol}`"), error))
    };
    let most_threads = attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
    if threads == 0 || threads > most_threads {
        return Err(bad(&format!(
            "`{symbol}` was launched with {threads} threads in a block; with its registers it can have 1 to {most_threads}"
        )));
    }
    let fixed = attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
    let (needed, limit) = (u64::from(fixed) + u64::from(shared_bytes), info.shared_bytes_per_block);
    if needed > u64::from(limit) {
        return Err(bad(&format!(
            "`{symbol}` needs {needed} bytes of shared memory in a block, {} has {limit}",
            info.name
        )));
    }
    if needed > u64::from(SHARED_WITHOUT_ASKING) {
        let most = i32::try_from(shared_bytes).map_err(|_| bad("too much shared memory"))?;
        let kind = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: as above.
        unsafe { result::function::set_function_attribute(function, kind, most) }
            .map_err(|error| fault(&format!("asking for the shared memory of `{symbol}`"), error))?;
    }
    Ok(())
}

/// Returns offset and size of parameter `at` in bytes; `None` past the last parameter.
pub(crate) fn declared(function: sys::CUfunction, at: usize) -> Option<(usize, usize)> {
    let (mut offset, mut size) = (0usize, 0usize);
    // SAFETY: the function came from a loaded module, both results are live places, and an index past the last
    // parameter is an error status.
    let status = unsafe { sys::cuFuncGetParamInfo(function, at, &raw mut offset, &raw mut size) };
    status.result().is_ok().then_some((offset, size))
}

/// Enqueues a kernel on a stream. An empty grid, which the driver rejects, is not launched.
///
/// `pointers` and `extra` are the two forms in which the driver takes parameters (CUDA driver API, `cuLaunchKernelEx`); one of them is
/// null.
///
/// # Safety
/// The function's module is loaded, and the parameters have the bytes that the kernel declares. The driver copies them before this
/// returns.
pub(crate) unsafe fn enqueue(
    function: sys::CUfunction,
    shape: Shape,
    grid: [u32; 3],
    stream: sys::CUstream,
    pointers: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<(), DriverError> {
    if grid.contains(&0) {
        return Ok(());
    }
    let (mut attributes, count) = attributes(shape);
    let [x, y, z] = grid;
    let config = sys::CUlaunchConfig {
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: shape.threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: shape.shared_bytes,
        hStream: stream,
        attrs: attributes.as_mut_ptr(),
        numAttrs: count,
    };
    // SAFETY: the caller vouches for the function and its parameters; the attributes outlive the call.
    unsafe { sys::cuLaunchKernelEx(&raw const config, function, pointers, extra) }.result()
}

/// Returns the attributes of a launch, and the number of those that differ from the defaults, which come first.
fn attributes(shape: Shape) -> ([sys::CUlaunchAttribute; 2], u32) {
    use sys::CUlaunchAttributeID as Id;
    let [x, y, z] = shape.cluster;
    let attribute = |id, value| sys::CUlaunchAttribute { id, pad: [0; 4], value };
    let cluster = sys::CUlaunchAttributeValue {
        clusterDim: sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z },
    };
    let cluster = attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster);
    // The kernel waits by itself for the launches before it.
    let overlap = sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
    let overlap = attribute(Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, overlap);
    match (shape.cluster == [1, 1, 1], shape.waits_for_previous) {
        (true, false) => ([cluster, overlap], 0),
        (true, true) => ([overlap, cluster], 1),
        (false, waits) => ([cluster, overlap], 1 + u32::from(waits)),
    }
}

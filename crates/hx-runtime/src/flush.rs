//! Reads memory from start to end, which is timed as a reference of other kernels, and empties the L2 cache, so that a timed run finds
//! no data in it.
//!
//! To empty the cache, a buffer larger than the cache is read. Writing it would evict the cache's content too, but would leave dirty lines, whose
//! write-back the next run would pay for. If the driver cannot translate the reading kernel, the buffer is written nevertheless.

#![allow(unsafe_code)]

use std::ffi::{CString, c_void};

use cudarc::driver::{result, sys};
use hx_worker::protocol::RemoteError;

use crate::fault::{bad, fault};
use crate::gpu::Gpu;
use crate::memory::DeviceMemory;

/// The reading kernel as PTX text, which the driver translates for its device.
const READ: &str = include_str!("read.ptx");
const READ_SYMBOL: &str = "read_memory";
const THREADS: u32 = 256;
/// Blocks for each multiprocessor. With this number, enough loads are in flight to saturate memory.
const BLOCKS_EACH: u32 = 16;
/// The size of the buffer in sizes of the cache. It is more than one, because the hardware need not evict the oldest line, and
/// because the device must be busy while the host enqueues the following work.
const CACHES: u64 = 4;

/// Memory that fills the cache when it is read.
pub(crate) struct Flush {
    memory: DeviceMemory,
    bytes: usize,
    read: Option<Reader>,
}

/// The loaded kernel. It is unloaded when dropped.
pub(crate) struct Reader {
    module: sys::CUmodule,
    function: sys::CUfunction,
    blocks: u32,
}

impl Reader {
    /// Loads the kernel for a device, whose context is current. `None` if the driver cannot translate it.
    pub(crate) fn load(gpu: &Gpu) -> Option<Reader> {
        let text = CString::new(READ).ok()?;
        let symbol = CString::new(READ_SYMBOL).ok()?;
        // SAFETY: the image is a text that ends in zero and outlives the call, which copies it; a context is current.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) }.ok()?;
        // SAFETY: the module was loaded just now.
        match unsafe { result::module::get_function(module, symbol) } {
            Ok(function) => {
                let blocks = BLOCKS_EACH * gpu.info.multiprocessors.max(1);
                Some(Reader { module, function, blocks })
            }
            Err(_) => {
                // SAFETY: nothing of the module is in use.
                let _ = unsafe { result::module::unload(module) };
                None
            }
        }
    }
}

impl Reader {
    /// Enqueues the read of `bytes` bytes, a multiple of 16.
    ///
    /// # Safety
    /// The memory is live, at least `bytes` long, and outlives the stream's work.
    pub(crate) unsafe fn start(
        &self,
        address: sys::CUdeviceptr,
        bytes: u64,
        stream: sys::CUstream,
    ) -> Result<(), result::DriverError> {
        let mut memory: u64 = address;
        let mut quads: u64 = bytes / 16;
        let mut arguments: [*mut c_void; 2] = [(&raw mut memory).cast(), (&raw mut quads).cast()];
        // SAFETY: the kernel takes two 64-bit numbers, which the driver copies before the call returns; it reads `quads`
        // times 16 bytes of memory for which the caller vouches, and writes at its start at most.
        unsafe {
            result::launch_kernel(
                self.function,
                (self.blocks, 1, 1),
                (THREADS, 1, 1),
                0,
                stream,
                &mut arguments,
            )
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // SAFETY: the module came from `load`; the stream was waited for, or its context is lost.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

impl Flush {
    /// Makes the memory and the kernel for a device, whose context is current.
    pub(crate) fn new(gpu: &Gpu) -> Result<Flush, RemoteError> {
        let memory = gpu.alloc(CACHES * gpu.info.l2_bytes)?;
        memory.zero()?;
        let bytes = usize::try_from(memory.bytes()).map_err(|_| bad("a cache past the address space"))?;
        Ok(Flush { memory, bytes, read: Reader::load(gpu) })
    }

    /// Enqueues the flush on the stream.
    pub(crate) fn start(&self, stream: sys::CUstream) -> Result<(), RemoteError> {
        if self.bytes == 0 {
            return Ok(());
        }
        let done = match &self.read {
            // SAFETY: the memory is live, `bytes` long, and outlives the stream's work, which is waited for.
            Some(read) => unsafe { read.start(self.memory.address(), self.memory.bytes(), stream) },
            // SAFETY: the memory is live, `bytes` long, and outlives the stream's work, which is waited for.
            None => unsafe { result::memset_d8_async(self.memory.address(), 0x5a, self.bytes, stream) },
        };
        done.map_err(|error| fault("emptying the cache", error))
    }
}

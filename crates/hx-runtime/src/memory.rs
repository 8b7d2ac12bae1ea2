//! Device memory: allocations that are freed when dropped, and checked copies from and to them.

#![allow(unsafe_code)]

use cudarc::driver::{result, sys};
use hx_worker::protocol::RemoteError;

use crate::fault::{bad, fault};

/// Device memory. It is freed when dropped.
pub(crate) struct DeviceMemory {
    pub(crate) context: sys::CUcontext,
    pub(crate) address: sys::CUdeviceptr,
    pub(crate) bytes: u64,
}

impl DeviceMemory {
    /// Returns the address on the device.
    pub(crate) fn address(&self) -> sys::CUdeviceptr {
        self.address
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn zero(&self) -> Result<(), RemoteError> {
        make_current(self.context)?;
        let size = usize::try_from(self.bytes).map_err(|_| bad("a buffer past the address space"))?;
        if size == 0 {
            return Ok(());
        }
        // SAFETY: the memory is live and `size` bytes long, and its context is current.
        unsafe { result::memset_d8_sync(self.address, 0, size) }
            .map_err(|error| fault("clearing device memory", error))
    }

    pub(crate) fn write(&self, offset: u64, data: &[u8]) -> Result<(), RemoteError> {
        let start = self.range(offset, data.len() as u64)?;
        if data.is_empty() {
            return Ok(());
        }
        make_current(self.context)?;
        // SAFETY: the range was checked to lie inside of the live memory, and its context is current.
        unsafe { result::memcpy_htod_sync(start, data) }
            .map_err(|error| fault("writing device memory", error))
    }

    /// Fills the memory with repetitions of the pattern.
    pub(crate) fn fill(&self, pattern: &[u8]) -> Result<(), RemoteError> {
        if pattern.is_empty() {
            return Err(bad("nothing to fill a buffer with"));
        }
        let size = usize::try_from(self.bytes).map_err(|_| bad("a buffer past the address space"))?;
        let mut filled = pattern.len().min(size);
        self.write(0, &pattern[..filled])?;
        // The filled part, a multiple of the pattern, is copied behind itself, so that it doubles in each step.
        while filled < size {
            let part = filled.min(size - filled);
            let behind = self.address + filled as u64;
            // SAFETY: both ranges lie inside of the live memory and do not overlap, and its context is current.
            unsafe { result::memcpy_dtod_sync(behind, self.address, part) }
                .map_err(|error| fault("filling device memory", error))?;
            filled += part;
        }
        Ok(())
    }

    pub(crate) fn read(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, RemoteError> {
        let start = self.range(offset, bytes)?;
        let size = usize::try_from(bytes).map_err(|_| bad("a buffer past the address space"))?;
        let mut data = vec![0u8; size];
        if size == 0 {
            return Ok(data);
        }
        make_current(self.context)?;
        // SAFETY: the range was checked to lie inside of the live memory, and its context is current.
        unsafe { result::memcpy_dtoh_sync(&mut data, start) }
            .map_err(|error| fault("reading device memory", error))?;
        Ok(data)
    }

    /// Returns the address of `bytes` bytes at `offset`, after checking that they lie inside.
    fn range(&self, offset: u64, bytes: u64) -> Result<sys::CUdeviceptr, RemoteError> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.address + offset),
            _ => Err(bad(&format!(
                "{bytes} bytes at offset {offset} do not lie in a buffer of {} bytes",
                self.bytes
            ))),
        }
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let _ = make_current(self.context);
        // SAFETY: the memory came from `alloc` and is freed only here.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

pub(crate) fn make_current(context: sys::CUcontext) -> Result<(), RemoteError> {
    // SAFETY: the context is retained by a live `Gpu` wherever this is called.
    unsafe { result::ctx::set_current(context) }.map_err(|error| fault("switching to the device", error))
}

//! The devices: driver, contexts, memory and loaded modules. Each is released when dropped.
//!
//! Every operation runs on the thread of the main loop and on the default stream. The stream orders copies and kernels: each
//! waits for the previous one. The driver library's presence is checked before the first call, because cudarc panics without it.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::c_int;
use std::rc::Rc;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use hx_tensor_map::TensorMap;
use hx_worker::protocol::{
    Absence, Component, DeviceInfo, DriverInfo, LaunchRequest, RemoteError, Step, TimePlan, Work,
};

use crate::cublaslt::Cublas;
use crate::fault::{bad, fault};
use crate::image;
use crate::launch::{Outputs, launch};
use crate::map::{Maps, ZEROS, instead_of_empty};
use crate::memory::{DeviceMemory, make_current};
use crate::timing;

/// The driver, all devices used so far, and the memory on them.
#[derive(Default)]
pub(crate) struct Gpus {
    driver: Option<Result<DriverInfo, Absence>>,
    devices: Option<Result<Vec<DeviceInfo>, Absence>>,
    // Fields are dropped in this order: memory must be freed before the contexts to which it belongs.
    buffers: BTreeMap<u64, DeviceMemory>,
    gpus: BTreeMap<u32, Gpu>,
    next_buffer: u64,
}

/// A device with its primary context.
pub(crate) struct Gpu {
    pub(crate) info: DeviceInfo,
    device: sys::CUdevice,
    context: sys::CUcontext,
    modules: BTreeMap<String, Module>,
    events: Option<[sys::CUevent; 2]>,
    maps: Maps,
    /// Zeros that stand for the elements of empty tensors in tensor maps.
    zeros: Option<DeviceMemory>,
    /// The matrix library, from its first use on.
    pub(crate) cublas: Option<Cublas>,
}

/// Machine code that is loaded on a device.
#[derive(Clone)]
pub(crate) struct Module {
    pub(crate) handle: sys::CUmodule,
    /// The parameter bytes of each kernel that declares them.
    pub(crate) parameter_bytes: Rc<BTreeMap<String, usize>>,
}

impl Gpus {
    /// Returns the driver and the devices, or the reasons why they are missing.
    pub(crate) fn probe(&mut self) -> (Result<DriverInfo, Absence>, Result<Vec<DeviceInfo>, Absence>) {
        let driver = self.driver.get_or_insert_with(load_driver).clone();
        let devices = match &driver {
            Err(absence) => Err(absence.clone()),
            Ok(_) => self.devices.get_or_insert_with(list_devices).clone(),
        };
        (driver, devices)
    }

    /// Creates the context of a device.
    pub(crate) fn warm(&mut self, ordinal: u32) -> Result<(), RemoteError> {
        self.gpu(ordinal).map(|_| ())
    }

    pub(crate) fn launch(
        &mut self,
        request: &LaunchRequest,
        blobs: &[Vec<u8>],
    ) -> Result<(Outputs, Vec<Vec<u8>>, f32), RemoteError> {
        self.gpu(request.device)?;
        let (gpus, buffers) = (&mut self.gpus, &self.buffers);
        let gpu = gpus.get_mut(&request.device).ok_or_else(|| bad("the device is gone"))?;
        launch(gpu, buffers, request, blobs)
    }

    pub(crate) fn run(&mut self, device: u32, steps: &[Step], blobs: &[Vec<u8>]) -> Result<(), RemoteError> {
        self.gpu(device)?;
        let (gpus, buffers) = (&mut self.gpus, &self.buffers);
        let gpu = gpus.get_mut(&device).ok_or_else(|| bad("the device is gone"))?;
        timing::run(gpu, buffers, steps, blobs)
    }

    pub(crate) fn time(
        &mut self,
        device: u32,
        works: &[Work],
        plan: &TimePlan,
        blobs: &[Vec<u8>],
    ) -> Result<Vec<Vec<f32>>, RemoteError> {
        self.gpu(device)?;
        let (gpus, buffers) = (&mut self.gpus, &self.buffers);
        let gpu = gpus.get_mut(&device).ok_or_else(|| bad("the device is gone"))?;
        timing::time(gpu, buffers, works, plan, blobs)
    }

    pub(crate) fn alloc(&mut self, ordinal: u32, bytes: u64) -> Result<u64, RemoteError> {
        let memory = self.gpu(ordinal)?.alloc(bytes)?;
        memory.zero()?;
        self.next_buffer += 1;
        self.buffers.insert(self.next_buffer, memory);
        Ok(self.next_buffer)
    }

    pub(crate) fn upload(&mut self, buffer: u64, offset: u64, data: &[u8]) -> Result<(), RemoteError> {
        let memory = self.buffers.get(&buffer).ok_or_else(|| bad("no such buffer"))?;
        memory.write(offset, data)
    }

    pub(crate) fn fill(&mut self, buffer: u64, pattern: &[u8]) -> Result<(), RemoteError> {
        let memory = self.buffers.get(&buffer).ok_or_else(|| bad("no such buffer"))?;
        memory.fill(pattern)
    }

    pub(crate) fn download(&mut self, buffer: u64, offset: u64, bytes: u64) -> Result<Vec<u8>, RemoteError> {
        let memory = self.buffers.get(&buffer).ok_or_else(|| bad("no such buffer"))?;
        memory.read(offset, bytes)
    }

    pub(crate) fn free(&mut self, buffer: u64) -> Result<(), RemoteError> {
        self.buffers.remove(&buffer).map(drop).ok_or_else(|| bad("no such buffer"))
    }

    /// Returns the device, with its context made current.
    fn gpu(&mut self, ordinal: u32) -> Result<&mut Gpu, RemoteError> {
        let (_, devices) = self.probe();
        let devices = devices.map_err(RemoteError::Absent)?;
        let Some(info) = devices.iter().find(|info| info.ordinal == ordinal) else {
            let count = devices.len();
            let reason = format!("there is no device {ordinal}, the devices are numbered below {count}");
            return Err(RemoteError::Absent(Absence::new(Component::Device, reason)));
        };
        let gpu = match self.gpus.entry(ordinal) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Gpu::open(info)?),
        };
        make_current(gpu.context)?;
        Ok(gpu)
    }
}

impl Gpu {
    fn open(info: &DeviceInfo) -> Result<Gpu, RemoteError> {
        let during = "starting the device";
        let ordinal = c_int::try_from(info.ordinal).map_err(|_| bad("no such device"))?;
        let device = result::device::get(ordinal).map_err(|error| fault(during, error))?;
        // SAFETY: the device came from the driver just now.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(|error| fault(during, error))?;
        Ok(Gpu {
            info: info.clone(),
            device,
            context,
            modules: BTreeMap::new(),
            maps: Maps::default(),
            zeros: None,
            events: None,
            cublas: None,
        })
    }

    /// Allocates uninitialized device memory, and makes the context current.
    pub(crate) fn alloc(&self, bytes: u64) -> Result<DeviceMemory, RemoteError> {
        make_current(self.context)?;
        let size = usize::try_from(bytes.max(1)).map_err(|_| bad("a buffer past the address space"))?;
        // SAFETY: a context is current; a size of zero, which the driver refuses, was made one.
        let address = unsafe { result::malloc_sync(size) }
            .map_err(|error| fault(&format!("allocating {bytes} bytes of device memory"), error))?;
        Ok(DeviceMemory { context: self.context, address, bytes })
    }

    /// Returns the bytes of a map of the tensor at `address`. The driver has no maps of empty tensors: a single zero stands for
    /// one, because every element of a box is outside of an empty tensor and so is read as zero.
    pub(crate) fn map(&mut self, map: &TensorMap, address: u64) -> Result<Vec<u8>, RemoteError> {
        let Some(map) = instead_of_empty(map) else { return self.maps.encoded(map, address) };
        let zeros = match self.zeros.take() {
            Some(zeros) => zeros,
            None => self.alloc(ZEROS)?,
        };
        zeros.zero()?;
        let address = self.zeros.insert(zeros).address();
        self.maps.encoded(&map, address)
    }

    /// Loads machine code under its hash, unless it is loaded already.
    pub(crate) fn module(&mut self, hash: &str, cubin: Option<&Vec<u8>>) -> Result<Module, RemoteError> {
        if let Some(module) = self.modules.get(hash) {
            return Ok(module.clone());
        }
        let cubin = cubin.ok_or_else(|| bad("the kernel's code was not sent"))?;
        let parameter_bytes = image::parameter_bytes(cubin)
            .ok_or_else(|| bad("the kernel's code is neither a cubin nor PTX"))?;
        let handle = image::load(cubin)
            .map_err(|error| fault(&format!("loading a kernel on {}", self.info.name), error))?;
        let module = Module { handle, parameter_bytes: Rc::new(parameter_bytes) };
        self.modules.insert(hash.to_owned(), module.clone());
        Ok(module)
    }

    /// Returns the two events that time a launch.
    pub(crate) fn events(&mut self) -> Result<[sys::CUevent; 2], RemoteError> {
        if let Some(events) = self.events {
            return Ok(events);
        }
        let create = || {
            let kind = sys::CUevent_flags::CU_EVENT_DEFAULT;
            result::event::create(kind).map_err(|error| fault("making an event", error))
        };
        let events = [create()?, create()?];
        self.events = Some(events);
        Ok(events)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // Errors are ignored here: the process is ending, or the context is already lost.
        let _ = make_current(self.context);
        self.cublas = None;
        self.zeros = None;
        for event in self.events.into_iter().flatten() {
            // SAFETY: the event was made by `events` and is destroyed only here.
            let _ = unsafe { result::event::destroy(event) };
        }
        for module in std::mem::take(&mut self.modules).into_values() {
            // SAFETY: the module was loaded by `module` and is unloaded only here.
            let _ = unsafe { result::module::unload(module.handle) };
        }
        // SAFETY: the context was retained once by `open`, and everything in it is gone.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

pub(crate) fn load_driver() -> Result<DriverInfo, Absence> {
    // SAFETY: loads the driver library by its well-known names; its initializers are the driver's own.
    if !unsafe { sys::is_culib_present() } {
        return Err(Absence {
            help: Some("a GPU needs NVIDIA's driver; without it, kernels run on the simulator".to_owned()),
            ..Absence::new(Component::Driver, "the driver library (libcuda) was not found")
        });
    }
    let mut version: c_int = 0;
    // SAFETY: the pointer is to a live integer; this call needs no initialization.
    let status = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    let version = u32::try_from(version).unwrap_or(0);
    match status.result() {
        Ok(()) => Ok(DriverInfo { cuda_version: (version / 1000, version % 1000 / 10) }),
        Err(error) => Err(Absence::new(Component::Driver, explain_start(error))),
    }
}

pub(crate) fn list_devices() -> Result<Vec<DeviceInfo>, Absence> {
    let absence = |error: DriverError| Absence::new(Component::Device, explain_start(error));
    result::init().map_err(absence)?;
    let count = result::device::get_count().map_err(absence)?;
    let devices = (0..count).map(device_info).collect::<Result<Vec<_>, _>>().map_err(absence)?;
    if devices.is_empty() {
        return Err(Absence::new(Component::Device, "the driver reports no device"));
    }
    Ok(devices)
}

fn device_info(ordinal: c_int) -> Result<DeviceInfo, DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let device = result::device::get(ordinal)?;
    let attribute = |attribute| {
        // SAFETY: the device came from the driver just now.
        unsafe { result::device::get_attribute(device, attribute) }
            .map(|value| u32::try_from(value).unwrap_or(0))
    };
    Ok(DeviceInfo {
        ordinal: u32::try_from(ordinal).unwrap_or(0),
        name: result::device::get_name(device)?,
        capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE).unwrap_or(0),
        // SAFETY: as above.
        memory_bytes: unsafe { result::device::total_mem(device) }? as u64,
        l2_bytes: u64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        shared_bytes_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
    })
}

/// Returns the reason why the driver does not start, in plain words for the common causes.
fn explain_start(error: DriverError) -> String {
    match error.0 as u32 {
        34 => "only the toolkit's stub of the driver library was found".to_owned(),
        100 => "the driver reports no device".to_owned(),
        803 => "the driver library and the kernel module are of different versions".to_owned(),
        code => match fault("starting the driver", error) {
            RemoteError::Cuda(fault) => format!("the driver does not start: {} ({})", fault.text, fault.name),
            _ => format!("the driver does not start: code {code}"),
        },
    }
}

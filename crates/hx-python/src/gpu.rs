//! The GPUs of this process: their contexts, the kernels loaded on them, and the kernels that were launched last.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use hx_inspect::Setup;
use hx_launch::{DirectLaunch, Machine, machine_of};
use hx_runtime::direct::{Device, Kernel, Shape};
use rustc_hash::FxHashMap;

use crate::errors::{Class, Problem};
use crate::lock::lock;

/// The number of recently launched kernels that an error of the driver names.
const RECENT: usize = 4;

/// The GPUs that calls have used so far, and the last kernels on them.
#[derive(Debug, Default)]
pub(crate) struct Gpus {
    opened: Mutex<BTreeMap<u32, Arc<Gpu>>>,
    /// The names of the last launched kernels, the newest at the end. Repeated launches of one kernel count once.
    recent: Mutex<VecDeque<Arc<str>>>,
}

/// A GPU, and the kernels that are loaded on it.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) device: Device,
    /// The machine that kernels are compiled for.
    pub(crate) machine: Machine,
    /// The loaded kernels, by a hash of their code, their symbol and their [`Shape`].
    loaded: Mutex<FxHashMap<[u8; 32], Arc<Kernel>>>,
}

impl Gpus {
    /// Returns a GPU, and opens it at its first use.
    ///
    /// # Errors
    /// If the driver cannot open it, or hx has no code for it.
    pub(crate) fn get(&self, setup: &Setup, ordinal: u32) -> Result<Arc<Gpu>, Problem> {
        let mut opened = lock(&self.opened);
        if let Some(gpu) = opened.get(&ordinal) {
            return Ok(Arc::clone(gpu));
        }
        let device = Device::open(ordinal).map_err(|error| self.failed(&error))?;
        let driver = device.driver().cuda_version;
        let machine = machine_of(setup, device.info().clone(), driver);
        let machine =
            machine.map_err(|error| Problem::new(Class::Missing, error.0.code, error.0.message.clone()))?;
        let gpu = Arc::new(Gpu { device, machine, loaded: Mutex::default() });
        opened.insert(ordinal, Arc::clone(&gpu));
        Ok(gpu)
    }

    /// Records the launch of a kernel for later errors.
    pub(crate) fn launched(&self, kernel: &Arc<str>) {
        let mut recent = lock(&self.recent);
        if recent.back().is_some_and(|last| Arc::ptr_eq(last, kernel)) {
            return;
        }
        if recent.len() == RECENT {
            recent.pop_front();
        }
        recent.push_back(Arc::clone(kernel));
    }

    /// Converts an error of the driver to a problem that names the last launched kernels.
    pub(crate) fn failed(&self, error: &hx_worker::RemoteError) -> Problem {
        let recent: Vec<String> = lock(&self.recent).iter().map(ToString::to_string).collect();
        Problem::driver(error, &recent)
    }
}

impl Gpu {
    /// Returns the kernel of a launch, and loads it at its first use. The error of the driver names the last kernels of `gpus`.
    pub(crate) fn load(&self, gpus: &Gpus, launch: &DirectLaunch) -> Result<Arc<Kernel>, Problem> {
        let shape = Shape {
            cluster: launch.cluster,
            threads: launch.threads,
            shared_bytes: launch.shared_bytes,
            waits_for_previous: launch.waits_for_previous,
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(&launch.code).update(launch.symbol.as_bytes()).update(format!("{shape:?}").as_bytes());
        let hash = *hasher.finalize().as_bytes();
        let mut loaded = lock(&self.loaded);
        if let Some(kernel) = loaded.get(&hash) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = self.device.load(&launch.code, &launch.symbol, shape);
        let kernel = Arc::new(kernel.map_err(|error| gpus.failed(&error))?);
        loaded.insert(hash, Arc::clone(&kernel));
        Ok(kernel)
    }
}

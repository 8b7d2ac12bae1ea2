//! Where kernels run: the simulator, or a GPU reached through the worker process. Each absence has its reason.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hx_base::{Code, codes};
use hx_host::HostError;
use hx_target::Arch;
use hx_worker::toolkit::{SearchEnv, find_cublaslt};
use hx_worker::{
    Absence, Cache, Compiler, DeviceInfo, Limits, ProbeReport, WorkerClient, WorkerCommand, WorkerError,
};

use crate::launch::absence_error;

/// How long looking for a GPU may take.
const PROBE_LIMIT: Duration = Duration::from_secs(60);

/// What `--device` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeviceChoice {
    /// The first GPU that can be used, else the simulator.
    #[default]
    Auto,
    Sim,
    /// A GPU, the first if no number is given.
    Cuda(Option<u32>),
}

/// A text that names no device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownDevice(pub String);

impl fmt::Display for UnknownDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found the device `{}`, expected `auto`, `sim`, `cuda` or `cuda:N`", self.0)
    }
}

impl std::error::Error for UnknownDevice {}

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<DeviceChoice, UnknownDevice> {
        let unknown = || UnknownDevice(text.to_owned());
        Ok(match text {
            "auto" => DeviceChoice::Auto,
            "sim" => DeviceChoice::Sim,
            "cuda" => DeviceChoice::Cuda(None),
            _ => {
                let number = text.strip_prefix("cuda:").and_then(|n| n.parse().ok());
                DeviceChoice::Cuda(Some(number.ok_or_else(unknown)?))
            }
        })
    }
}

/// Everything that finding a machine needs.
#[derive(Clone, Debug)]
pub struct Setup {
    pub device: DeviceChoice,
    /// What the simulator stands for, and what is checked; a GPU is what it is.
    pub target: Arch,
    /// How to start the worker process.
    pub worker: WorkerCommand,
    /// Where the CUDA compiler and the disassembler may be.
    pub search: SearchEnv,
    /// Where compiled kernels are kept.
    pub cache: Option<Cache>,
}

/// Where kernels run.
#[derive(Debug)]
pub enum Machine {
    /// The simulator, with the reason why it is not a GPU where one was looked for.
    Simulator {
        arch: Arch,
        instead_of: Option<String>,
        /// For what only the CUDA compiler knows of a kernel, such as its spills.
        compiler: Option<Box<OnDemand>>,
    },
    Gpu(Box<Gpu>),
    /// Kernels are compiled for a GPU, into the cache, and not run.
    CompileOnly(Box<Cuda>),
}

/// A GPU and what it takes to run kernels on it.
#[derive(Debug)]
pub struct Gpu {
    pub info: DeviceInfo,
    pub(crate) cuda: Cuda,
}

/// The CUDA compiler and the worker process that it runs in.
#[derive(Debug)]
pub struct Cuda {
    pub arch: Arch,
    pub(crate) compiler: Compiler,
    /// The library of matrix products, or why there is none.
    pub(crate) cublaslt: Result<PathBuf, Absence>,
    worker: Mutex<WorkerClient>,
    warnings: Mutex<BTreeSet<String>>,
}

/// A CUDA compiler that is looked for when it is first needed.
#[derive(Debug)]
pub struct OnDemand {
    setup: Setup,
    cuda: OnceLock<Cuda>,
}

impl OnDemand {
    /// The compiler of a setup, which need not be there.
    pub fn new(setup: Setup) -> OnDemand {
        OnDemand { setup, cuda: OnceLock::new() }
    }

    pub(crate) fn get(&self) -> &Cuda {
        self.cuda.get_or_init(|| {
            let compiler = Compiler::new(&self.setup.search, self.setup.cache.clone());
            let worker = WorkerClient::new(self.setup.worker.clone());
            Cuda::new(self.setup.target, compiler, worker, &self.setup.search)
        })
    }
}

/// Whether an error says that the machine lacks something, and nothing against the program: what every command and the prompt
/// tell by their exit code. A worker that crashed is not lacking: what it ran may be the cause.
pub fn is_environmental(code: &Code) -> bool {
    [&codes::MISSING_NVRTC, &codes::NO_GPU].contains(&code)
}

/// Why the machine that was asked for cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineError(pub HostError);

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for MachineError {}

impl Machine {
    /// The architecture that kernels are compiled for.
    pub fn arch(&self) -> Arch {
        match self {
            Machine::Simulator { arch, .. } => *arch,
            Machine::Gpu(gpu) => gpu.cuda.arch,
            Machine::CompileOnly(cuda) => cuda.arch,
        }
    }

    /// One line for people: which machine, and why.
    pub fn describe(&self) -> String {
        match self {
            Machine::Simulator { arch, instead_of: None, .. } => format!("device: simulator ({arch})"),
            Machine::Simulator { arch, instead_of: Some(reason), .. } => {
                format!("device: simulator ({arch}), as {reason}")
            }
            Machine::Gpu(gpu) => {
                format!("device: cuda:{}, {} ({})", gpu.info.ordinal, gpu.info.name, gpu.cuda.arch)
            }
            Machine::CompileOnly(cuda) => format!("device: none, compiling for {}", cuda.arch),
        }
    }

    /// What `--device` has to say to get this machine again.
    pub fn flag(&self) -> String {
        match self {
            Machine::Simulator { .. } => "sim".to_owned(),
            Machine::Gpu(gpu) if gpu.info.ordinal == 0 => "cuda".to_owned(),
            Machine::Gpu(gpu) => format!("cuda:{}", gpu.info.ordinal),
            Machine::CompileOnly(_) => "auto".to_owned(),
        }
    }

    /// True for a GPU.
    pub fn is_gpu(&self) -> bool {
        matches!(self, Machine::Gpu(_))
    }

    /// Starts the worker of a GPU where there is none, and gets the device ready. What keeps it from that shows at the next
    /// launch.
    pub fn warm(&self) {
        if let Machine::Gpu(gpu) = self {
            let _ = gpu.cuda.worker().warm(gpu.info.ordinal, &Limits::within(PROBE_LIMIT));
        }
    }

    /// Whether the worker of a GPU is gone, so that the next launch starts another one.
    pub fn lost_its_worker(&self) -> bool {
        // Where the lock is held the worker is at work.
        let Machine::Gpu(gpu) = self else { return false };
        gpu.cuda.worker.try_lock().is_ok_and(|worker| !worker.is_running())
    }

    /// What should be told once at the end of a command, such as a cache that cannot be written.
    pub fn warnings(&self) -> Vec<String> {
        let cuda = match self {
            Machine::Simulator { compiler, .. } => match compiler.as_ref().and_then(|c| c.cuda.get()) {
                Some(cuda) => cuda,
                None => return Vec::new(),
            },
            Machine::Gpu(gpu) => &gpu.cuda,
            Machine::CompileOnly(cuda) => cuda,
        };
        lock(&cuda.warnings).iter().cloned().collect()
    }
}

impl Cuda {
    fn new(arch: Arch, compiler: Compiler, worker: WorkerClient, search: &SearchEnv) -> Cuda {
        let cublaslt = find_cublaslt(search);
        Cuda { arch, compiler, cublaslt, worker: Mutex::new(worker), warnings: Mutex::default() }
    }

    /// The worker, for one request at a time.
    pub(crate) fn worker(&self) -> MutexGuard<'_, WorkerClient> {
        lock(&self.worker)
    }

    pub(crate) fn warn(&self, warnings: impl IntoIterator<Item = String>) {
        lock(&self.warnings).extend(warnings);
    }
}

// A panic while the lock was held leaves a client that starts a fresh worker, and a set of texts: both stay usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Finds the machine that the setup asks for.
///
/// # Errors
/// When a GPU was asked for and there is none, or what its use needs is missing.
pub fn open_machine(setup: &Setup) -> Result<Machine, MachineError> {
    let simulator = |instead_of| {
        let compiler = Some(Box::new(OnDemand::new(setup.clone())));
        Ok(Machine::Simulator { arch: setup.target, instead_of, compiler })
    };
    let wanted = match setup.device {
        DeviceChoice::Sim => return simulator(None),
        DeviceChoice::Auto => None,
        DeviceChoice::Cuda(ordinal) => Some(ordinal.unwrap_or(0)),
    };
    match (find_gpu(setup, wanted.unwrap_or(0)), wanted) {
        (Ok(gpu), _) => Ok(Machine::Gpu(Box::new(gpu))),
        (Err(error), None) => simulator(Some(error.message)),
        (Err(error), Some(_)) => {
            let help = "`--device sim` runs on the CPU; `hx doctor` shows what is missing";
            Err(MachineError(if error.help.is_none() { error.help(help) } else { error }))
        }
    }
}

fn find_gpu(setup: &Setup, ordinal: u32) -> Result<Gpu, HostError> {
    let compiler = Compiler::new(&setup.search, setup.cache.clone());
    let mut worker = WorkerClient::new(setup.worker.clone());
    let report =
        probe(&mut worker, None).map_err(|e| HostError::new(&codes::WORKER_CRASHED, e.to_string()))?;
    report.driver.as_ref().map_err(absence_error)?;
    let devices = report.devices.as_ref().map_err(absence_error)?;
    let info = devices.iter().find(|d| d.ordinal == ordinal).cloned().ok_or_else(|| {
        let count = devices.len();
        let s = if count == 1 { "" } else { "s" };
        HostError::new(
            &codes::NO_GPU,
            format!("there is no GPU {ordinal}: the driver reports {count} device{s}"),
        )
    })?;
    let arch = arch_for(&info)?;
    // Kernels in the cache run without the compiler, so its absence shows at the first kernel that is not there.
    let empty_cache = setup.cache.as_ref().is_none_or(|cache| cache.known_compilers().is_empty());
    if let Err(absence) = compiler.nvrtc()
        && empty_cache
    {
        return Err(absence_error(absence));
    }
    Ok(Gpu { info, cuda: Cuda::new(arch, compiler, worker, &setup.search) })
}

/// A machine that compiles for the setup's target and runs nothing.
///
/// # Errors
/// When there is no CUDA compiler.
pub fn open_compiler(setup: &Setup) -> Result<Machine, MachineError> {
    let compiler = Compiler::new(&setup.search, setup.cache.clone());
    if let Err(absence) = compiler.nvrtc() {
        return Err(MachineError(absence_error(absence)));
    }
    let worker = WorkerClient::new(setup.worker.clone());
    Ok(Machine::CompileOnly(Box::new(Cuda::new(setup.target, compiler, worker, &setup.search))))
}

pub(crate) fn probe(
    worker: &mut WorkerClient,
    nvrtc: Option<&hx_worker::protocol::NvrtcFiles>,
) -> Result<ProbeReport, WorkerError> {
    worker.probe(nvrtc, &Limits::within(PROBE_LIMIT))
}

/// The best architecture whose code the GPU runs: machine code moves between minor versions upwards, not between major
/// ones, and architecture-specific code not at all.
pub(crate) fn arch_for(info: &DeviceInfo) -> Result<Arch, HostError> {
    let (major, minor) = info.capability;
    let capability = major * 10 + minor;
    let runs = |arch: &Arch| {
        let specific = arch.name().ends_with('a');
        let number = arch.number();
        number / 10 == major && if specific { number == capability } else { number <= capability }
    };
    Arch::ALL.into_iter().filter(runs).max_by_key(|a| a.number()).ok_or_else(|| {
        let known: Vec<&str> = Arch::ALL.iter().map(|a| a.name()).collect();
        HostError::new(
            &codes::NO_GPU,
            format!(
                "{} has compute capability {major}.{minor}, and kernels are made for {}",
                info.name,
                known.join(", ")
            ),
        )
    })
}

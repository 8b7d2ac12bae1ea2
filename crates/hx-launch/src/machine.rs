//! The machines that run kernels: the simulator, or a GPU reached through the worker process. An unusable machine gives a reason.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hx_base::{Code, codes};
use hx_host::HostError;
use hx_inspect::{Choosing, DeviceChoice, DeviceCosts, Setup, absence_error};
use hx_target::Target;
use hx_worker::toolkit::find_cublaslt;
use hx_worker::{
    Absence, Compiler, CompilerPool, DeviceInfo, Limits, ProbeReport, Want, WorkerClient, WorkerError,
};

/// Time limit of the search for a GPU.
const PROBE_LIMIT: Duration = Duration::from_secs(60);

/// The multiprocessors of the simulator. A small number, so that the blocks of a persistent kernel take several tiles each even in
/// small tests.
const SIMULATED_MULTIPROCESSORS: u32 = 4;

/// A place where kernels run.
#[derive(Debug)]
pub enum Machine {
    /// The simulator. If a GPU was searched for, `instead_of` says why none is used.
    Simulator {
        target: Target,
        instead_of: Option<String>,
        /// The CUDA compiler, for facts that only it knows about a kernel, such as spills.
        compiler: Option<Box<OnDemand>>,
    },
    Gpu(Box<Gpu>),
    /// Compiles kernels for a GPU into the cache, and does not run them.
    CompileOnly(Box<Cuda>),
    /// Collects the CUDA texts of kernels. Compiles and runs nothing.
    TextOnly(Texts),
}

/// The CUDA text of every launched instance.
#[derive(Debug)]
pub struct Texts {
    target: Target,
    found: Mutex<BTreeSet<(String, String)>>,
}

impl Texts {
    /// Makes an empty collection for launches on an architecture.
    pub fn new(target: Target) -> Texts {
        Texts { target, found: Mutex::default() }
    }

    /// Records the text of an instance.
    pub(crate) fn add(&self, instance: String, text: String) {
        lock(&self.found).insert((instance, text));
    }

    /// Returns the instances, each with its text, ordered by name: `path::kernel<BM = 64> k % 8`.
    pub fn into_sorted(self) -> Vec<(String, String)> {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.into_iter().collect()
    }
}

/// A GPU, with the compiler and the worker that run kernels on it.
#[derive(Debug)]
pub struct Gpu {
    pub info: DeviceInfo,
    /// The newest CUDA version that the driver supports.
    pub driver: (u32, u32),
    pub cuda: Cuda,
}

/// The CUDA compiler with its worker processes, and the worker process that uses a GPU.
#[derive(Debug)]
pub struct Cuda {
    pub target: Target,
    /// PTX, if the GPU is newer than all targets and the driver makes its machine code; otherwise a cubin.
    pub want: Want,
    /// Machines that are opened together share the processes that compile.
    pub compilers: Arc<CompilerPool>,
    /// Path of the library of matrix products, or the reason why it is missing.
    pub(crate) cublaslt: Result<PathBuf, Absence>,
    pub(crate) choices: Choices,
    worker: Mutex<WorkerClient>,
    warnings: Mutex<BTreeSet<String>>,
}

/// The way in which launches choose between the members of a family.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    /// The folder in which choices are kept, if there is one.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) by: Choosing,
}

/// A CUDA compiler that is searched for at its first use.
#[derive(Debug)]
pub struct OnDemand {
    setup: Setup,
    cuda: OnceLock<Cuda>,
}

impl OnDemand {
    /// Makes the compiler of a setup. The compiler need not exist.
    pub fn new(setup: Setup) -> OnDemand {
        OnDemand { setup, cuda: OnceLock::new() }
    }

    pub(crate) fn get(&self) -> &Cuda {
        self.cuda.get_or_init(|| {
            let compiler = Compiler::new(&self.setup.search, self.setup.cache.clone());
            Cuda::new(self.setup.target, compiler, WorkerClient::new(self.setup.worker.clone()), &self.setup)
        })
    }
}

/// Reports whether an error means that the machine lacks something, while the program may be correct. Every command and the
/// prompt report this in their exit code. A worker that crashed is not such an error: the program may have caused the crash.
pub fn is_environmental(code: &Code) -> bool {
    [&codes::MISSING_NVRTC, &codes::NO_GPU].contains(&code)
}

/// The reason why the requested machine cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineError(pub HostError);

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for MachineError {}

impl Machine {
    /// Returns the architecture that kernels are compiled for.
    pub fn target(&self) -> Target {
        match self {
            Machine::Simulator { target, .. } => *target,
            Machine::Gpu(gpu) => gpu.cuda.target,
            Machine::CompileOnly(cuda) => cuda.target,
            Machine::TextOnly(texts) => texts.target,
        }
    }

    /// Returns the number of multiprocessors that kernels see.
    pub fn multiprocessors(&self) -> u32 {
        match self {
            Machine::Simulator { .. } => SIMULATED_MULTIPROCESSORS,
            Machine::Gpu(gpu) => gpu.info.multiprocessors,
            Machine::CompileOnly(_) | Machine::TextOnly(_) => self.target().costs().multiprocessors,
        }
    }

    /// Describes in one line which machine this is, and why it was chosen.
    pub fn describe(&self) -> String {
        match self {
            Machine::Simulator { target, instead_of: None, .. } => format!("device: simulator ({target})"),
            Machine::Simulator { target, instead_of: Some(reason), .. } => {
                format!("device: simulator ({target}), as {reason}")
            }
            Machine::Gpu(gpu) => {
                format!("device: cuda:{}, {} ({})", gpu.info.ordinal, gpu.info.name, gpu.cuda.target)
            }
            Machine::CompileOnly(cuda) => format!("device: none, compiling for {}", cuda.target),
            Machine::TextOnly(texts) => format!("device: none, CUDA text for {}", texts.target),
        }
    }

    /// Returns the name of the device, with the number of a GPU: `sim`, `cuda:0`.
    pub fn device(&self) -> String {
        match self {
            Machine::Gpu(gpu) => format!("cuda:{}", gpu.info.ordinal),
            Machine::Simulator { .. } | Machine::CompileOnly(_) | Machine::TextOnly(_) => self.flag(),
        }
    }

    /// Returns the value of `--device` that selects this machine again.
    pub fn flag(&self) -> String {
        match self {
            Machine::Simulator { .. } => "sim".to_owned(),
            Machine::Gpu(gpu) if gpu.info.ordinal == 0 => "cuda".to_owned(),
            Machine::Gpu(gpu) => format!("cuda:{}", gpu.info.ordinal),
            Machine::CompileOnly(_) | Machine::TextOnly(_) => "auto".to_owned(),
        }
    }

    /// Reports whether launches run on this machine, so that their results can be checked.
    pub fn runs(&self) -> bool {
        match self {
            Machine::Simulator { .. } | Machine::Gpu(_) => true,
            Machine::CompileOnly(_) | Machine::TextOnly(_) => false,
        }
    }

    /// Returns the GPU, if the machine is one.
    pub fn gpu(&self) -> Option<&Gpu> {
        if let Machine::Gpu(gpu) = self { Some(gpu) } else { None }
    }

    /// Reports whether the machine is a GPU.
    pub fn is_gpu(&self) -> bool {
        matches!(self, Machine::Gpu(_))
    }

    /// Starts the worker of a GPU if it is not running, and prepares the device. A failure is ignored here: the next launch
    /// reports it.
    pub fn warm(&self) {
        if let Machine::Gpu(gpu) = self {
            let _ = gpu.cuda.worker().warm(gpu.info.ordinal, &Limits::within(PROBE_LIMIT));
        }
    }

    /// Reports whether the worker of a GPU has ended, so that the next launch starts another.
    pub fn lost_its_worker(&self) -> bool {
        // If the lock is held, a request is running, so the worker is alive.
        let Machine::Gpu(gpu) = self else { return false };
        gpu.cuda.worker.try_lock().is_ok_and(|worker| !worker.is_running())
    }

    /// Returns warnings to report once at the end of a command, such as a cache that cannot be written.
    pub fn warnings(&self) -> Vec<String> {
        let cuda = match self {
            Machine::Simulator { compiler, .. } => match compiler.as_ref().and_then(|c| c.cuda.get()) {
                Some(cuda) => cuda,
                None => return Vec::new(),
            },
            Machine::Gpu(gpu) => &gpu.cuda,
            Machine::CompileOnly(cuda) => cuda,
            Machine::TextOnly(_) => return Vec::new(),
        };
        lock(&cuda.warnings).iter().cloned().collect()
    }
}

impl Cuda {
    fn new(target: Target, compiler: Compiler, worker: WorkerClient, setup: &Setup) -> Cuda {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Cuda::sharing(
            target,
            Arc::new(CompilerPool::new(compiler, setup.worker.clone(), cores)),
            worker,
            setup,
        )
    }

    fn sharing(target: Target, compilers: Arc<CompilerPool>, worker: WorkerClient, setup: &Setup) -> Cuda {
        Cuda {
            target,
            want: Want::Cubin,
            compilers,
            cublaslt: find_cublaslt(&setup.search),
            choices: Choices {
                folder: setup.cache.as_ref().map(|cache| cache.dir().to_owned()),
                by: setup.choosing,
            },
            worker: Mutex::new(worker),
            warnings: Mutex::default(),
        }
    }

    /// Returns the compiler for a GPU that takes this kind of code. Adds a warning if the driver must translate PTX, and one for
    /// each file of costs that cannot be used.
    fn making(self, code: &DeviceCode, info: &DeviceInfo) -> Cuda {
        if code.want == Want::Ptx {
            let (name, target) = (&info.name, self.target);
            self.warn([format!("{name} is newer than this build: its driver translates PTX for {target}")]);
        }
        self.warn(code.costs.warnings.iter().cloned());
        Cuda { want: code.want, ..self }
    }

    /// Locks the worker for one request.
    pub fn worker(&self) -> MutexGuard<'_, WorkerClient> {
        lock(&self.worker)
    }

    /// Keeps warnings for [`Machine::warnings`].
    pub fn warn(&self, warnings: impl IntoIterator<Item = String>) {
        lock(&self.warnings).extend(warnings);
    }
}

// A poisoned lock is harmless: after a panic the client starts a fresh worker, and a set of texts stays usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the machine that the setup asks for.
///
/// # Errors
/// If a GPU was requested and there is none, or if a part that it needs is missing; or if the setup asks for all GPUs.
pub fn open_machine(setup: &Setup) -> Result<Machine, MachineError> {
    let simulator = |instead_of| {
        let compiler = Some(Box::new(OnDemand::new(setup.clone())));
        Ok(Machine::Simulator { target: setup.target, instead_of, compiler })
    };
    let wanted = match setup.device {
        DeviceChoice::Sim => return simulator(None),
        DeviceChoice::Auto => None,
        DeviceChoice::Cuda(ordinal) => Some(ordinal.unwrap_or(0)),
        DeviceChoice::AllCuda => {
            let error = HostError::call("`cuda:all` names all GPUs, expected one device");
            return Err(MachineError(error.help("`cuda` is the first GPU, `cuda:N` the one of number N")));
        }
    };
    match (find_gpu(setup, wanted.unwrap_or(0)), wanted) {
        (Ok(gpu), _) => Ok(Machine::Gpu(Box::new(gpu))),
        (Err(error), None) => simulator(Some(error.message)),
        (Err(error), Some(_)) => Err(no_gpu(error)),
    }
}

/// Opens the machines that the setup asks for, at least one: for `cuda:all` each GPU that the driver reports, in the order of their
/// numbers.
///
/// # Errors
/// As [`open_machine`], and if a GPU cannot run kernels.
pub fn open_machines(setup: &Setup) -> Result<Vec<Machine>, MachineError> {
    if setup.device != DeviceChoice::AllCuda {
        return open_machine(setup).map(|machine| vec![machine]);
    }
    let mut found = Found::of(setup).map_err(no_gpu)?;
    let mut devices = std::mem::take(&mut found.devices);
    devices.sort_by_key(|info| info.ordinal);
    let mut machines: Vec<Machine> = Vec::new();
    for info in devices {
        let gpu = match machines.first() {
            Some(Machine::Gpu(first)) => {
                let worker = WorkerClient::new(setup.worker.clone());
                let shared = Arc::clone(&first.cuda.compilers);
                code_on(&info, setup).map(|code| Gpu {
                    driver: first.driver,
                    cuda: Cuda::sharing(code.costs.target, shared, worker, setup).making(&code, &info),
                    info,
                })
            }
            _ => found.take_gpu(info, setup),
        };
        let help = "`CUDA_VISIBLE_DEVICES` hides GPUs from the driver";
        machines.push(Machine::Gpu(Box::new(gpu.map_err(|error| no_gpu(error.help(help)))?)));
    }
    if machines.is_empty() {
        return Err(no_gpu(HostError::new(&codes::NO_GPU, "the driver reports no device")));
    }
    Ok(machines)
}

/// Adds what to do without the GPU.
fn no_gpu(error: HostError) -> MachineError {
    let help = "`--device sim` runs on the CPU; `hx doctor` shows what is missing";
    MachineError(if error.help.is_none() { error.help(help) } else { error })
}

/// The GPUs that a worker has found.
struct Found {
    worker: Option<WorkerClient>,
    driver: (u32, u32),
    devices: Vec<DeviceInfo>,
}

impl Found {
    fn of(setup: &Setup) -> Result<Found, HostError> {
        let mut worker = WorkerClient::new(setup.worker.clone());
        let report =
            probe(&mut worker, None).map_err(|e| HostError::new(&codes::WORKER_CRASHED, e.to_string()))?;
        let driver = report.driver.as_ref().map_err(absence_error)?.cuda_version;
        let devices = report.devices.as_ref().map_err(absence_error)?.clone();
        Ok(Found { worker: Some(worker), driver, devices })
    }

    /// Returns a GPU, with the worker that found it or a fresh one.
    fn take_gpu(&mut self, info: DeviceInfo, setup: &Setup) -> Result<Gpu, HostError> {
        let code = code_on(&info, setup)?;
        let compiler = Compiler::new(&setup.search, setup.cache.clone());
        // Cached kernels run without the compiler. So a missing compiler is an error here only if the cache is empty; otherwise
        // the first kernel that is not cached reports it.
        let empty_cache = setup.cache.as_ref().is_none_or(|cache| cache.known_compilers().is_empty());
        if let Err(absence) = compiler.nvrtc()
            && empty_cache
        {
            return Err(absence_error(absence));
        }
        let worker = self.worker.take().unwrap_or_else(|| WorkerClient::new(setup.worker.clone()));
        let cuda = Cuda::new(code.costs.target, compiler, worker, setup).making(&code, &info);
        Ok(Gpu { info, driver: self.driver, cuda })
    }
}

fn find_gpu(setup: &Setup, ordinal: u32) -> Result<Gpu, HostError> {
    let mut found = Found::of(setup)?;
    let info = found.devices.iter().find(|d| d.ordinal == ordinal).cloned().ok_or_else(|| {
        let count = found.devices.len();
        let s = if count == 1 { "" } else { "s" };
        HostError::new(
            &codes::NO_GPU,
            format!("there is no GPU {ordinal}: the driver reports {count} device{s}"),
        )
    })?;
    found.take_gpu(info, setup)
}

/// Returns the machine of a GPU that the caller launches on by itself: kernels are compiled for it in worker processes, and no
/// worker uses the GPU.
///
/// # Errors
/// If no known architecture's code runs on the GPU.
pub fn machine_of(setup: &Setup, info: DeviceInfo, driver: (u32, u32)) -> Result<Machine, MachineError> {
    let code = code_on(&info, setup).map_err(MachineError)?;
    let compiler = Compiler::new(&setup.search, setup.cache.clone());
    let worker = WorkerClient::new(setup.worker.clone());
    let cuda = Cuda::new(code.costs.target, compiler, worker, setup).making(&code, &info);
    Ok(Machine::Gpu(Box::new(Gpu { info, driver, cuda })))
}

/// Opens a machine that compiles for the setup's target and runs nothing.
///
/// # Errors
/// If there is no CUDA compiler.
pub fn open_compiler(setup: &Setup) -> Result<Machine, MachineError> {
    let compiler = Compiler::new(&setup.search, setup.cache.clone());
    if let Err(absence) = compiler.nvrtc() {
        return Err(MachineError(absence_error(absence)));
    }
    let worker = WorkerClient::new(setup.worker.clone());
    Ok(Machine::CompileOnly(Box::new(Cuda::new(setup.target, compiler, worker, setup))))
}

pub(crate) fn probe(
    worker: &mut WorkerClient,
    nvrtc: Option<&hx_worker::protocol::NvrtcFiles>,
) -> Result<ProbeReport, WorkerError> {
    worker.probe(nvrtc, &Limits::within(PROBE_LIMIT))
}

/// The code that kernels are compiled to for a GPU.
pub(crate) struct DeviceCode {
    /// The target, with the costs of the GPU.
    pub(crate) costs: DeviceCosts,
    /// Machine code, or PTX that the driver translates.
    pub(crate) want: Want,
}

/// Returns the code that kernels are compiled to for a GPU, with the costs that the setup has for it.
///
/// # Errors
/// If no code of any target runs on the GPU.
pub(crate) fn code_on(info: &DeviceInfo, setup: &Setup) -> Result<DeviceCode, HostError> {
    let (target, want) = code_for(info)?;
    let (major, minor) = info.capability;
    Ok(DeviceCode { costs: setup.costs_on(target, &info.name, [major, minor]), want })
}

/// Returns the target that kernels are compiled for on a GPU, and the kind of code: machine code of the best target that runs there or,
/// on a GPU that is newer than all targets, PTX of the newest plain one, which the driver translates.
///
/// # Errors
/// If no code of any target runs on the GPU.
fn code_for(info: &DeviceInfo) -> Result<(Target, Want), HostError> {
    let (major, minor) = info.capability;
    if let Some(target) = Target::of_capability(major, minor) {
        return Ok((target, Want::Cubin));
    }
    let plain = Target::newest_plain().filter(|plain| plain.capability < [major, minor]);
    plain.map(|plain| (plain, Want::Ptx)).ok_or_else(|| {
        let oldest = Target::all().first().map_or("", |target| target.name());
        let message = format!(
            "{} has compute capability {major}.{minor}, and the oldest target is `{oldest}`",
            info.name
        );
        HostError::new(&codes::NO_GPU, message)
    })
}

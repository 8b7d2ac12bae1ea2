//! The choices that every command makes before it compiles or runs a kernel: the device, the target, the CUDA compiler, the cache.

use std::fmt;
use std::str::FromStr;

use hx_target::Target;
use hx_worker::toolkit::SearchEnv;
use hx_worker::{Cache, CompileJob, Compiled, Compiler, WorkerCommand};

/// The value of `--device`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeviceChoice {
    /// The first usable GPU, or the simulator if there is none.
    #[default]
    Auto,
    Sim,
    /// The GPU of that number, or the first GPU without a number.
    Cuda(Option<u32>),
    /// All GPUs that the driver reports; for commands that spread their work.
    AllCuda,
}

/// A text that does not name a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownDevice(pub String);

impl fmt::Display for UnknownDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found the device `{}`, expected `auto`, `sim`, `cuda`, `cuda:N` or `cuda:all`", self.0)
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
            "cuda:all" => DeviceChoice::AllCuda,
            _ => {
                let number = text.strip_prefix("cuda:").and_then(|n| n.parse().ok());
                DeviceChoice::Cuda(Some(number.ok_or_else(unknown)?))
            }
        })
    }
}

/// The settings that finding a machine needs.
#[derive(Clone, Debug)]
pub struct Setup {
    pub device: DeviceChoice,
    /// The architecture that checks and the simulator assume. A GPU uses its own architecture.
    pub target: Target,
    /// The command that starts the worker process.
    pub worker: WorkerCommand,
    /// Paths to search for the CUDA compiler and the disassembler.
    pub search: SearchEnv,
    /// The cache of compiled kernels.
    pub cache: Option<Cache>,
}

impl Setup {
    /// Returns the registers that ptxas reported for a kernel's text, if the cache holds a compile of it. Does not compile, load
    /// or start anything.
    pub fn reported_registers(&self, text: &str, symbol: &str, arch: &str) -> Option<u32> {
        self.cached(text, symbol, arch)?.kernel(symbol).map(|kernel| kernel.registers)
    }

    /// Returns the machine code of a kernel's text, if the cache holds a compile of it. Does not compile, load or start anything.
    pub fn cached(&self, text: &str, symbol: &str, arch: &str) -> Option<Compiled> {
        let compiler = Compiler::new(&self.search, self.cache.clone());
        compiler.cached(&CompileJob::of_kernel(text, symbol, arch))
    }
}

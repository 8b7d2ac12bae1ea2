//! The choices that every command makes before it compiles or runs a kernel: the device, the target, the CUDA compiler, the cache.

use std::fmt;
use std::str::FromStr;

use hx_target::Target;
use hx_worker::toolkit::SearchEnv;
use hx_worker::{Cache, CompileJob, Compiled, Compiler, WorkerCommand};

use crate::costs::{self, ChosenCosts, CostsSource, DeviceCosts};

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

/// The value of `--tune`: how a launch chooses between the members of a family, if no result of `hx tune` fits it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choosing {
    /// By the cost model.
    #[default]
    Model,
    /// On a GPU, the first launch of a shape measures the members that the cost model finds fastest.
    FirstCall,
}

impl FromStr for Choosing {
    type Err = String;

    fn from_str(text: &str) -> Result<Choosing, String> {
        match text {
            "model" => Ok(Choosing::Model),
            "first-call" => Ok(Choosing::FirstCall),
            _ => Err(format!("found `{text}`, expected `model` or `first-call`")),
        }
    }
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
    /// The architecture that checks and the simulator assume, with the costs that the user chose. A GPU uses its own
    /// architecture.
    pub target: Target,
    /// The costs that the user chose; `None` if each device uses its own.
    pub costs: Option<ChosenCosts>,
    /// The command that starts the worker process.
    pub worker: WorkerCommand,
    /// Paths to search for the CUDA compiler and the disassembler.
    pub search: SearchEnv,
    /// The cache of compiled kernels.
    pub cache: Option<Cache>,
    pub choosing: Choosing,
}

impl Setup {
    /// Returns a target with the costs that the user chose, if any.
    pub fn costed(&self, target: Target) -> Target {
        self.costs.as_ref().map_or(target, |chosen| target.with_costs(&chosen.costs))
    }

    /// Returns the costs of a target's code on a device: those that the user chose, otherwise those of a file of the device in the
    /// user's data folder, otherwise built-in ones. `name` is what the driver calls the device, `capability` its
    /// `[major, minor]`.
    pub fn costs_on(&self, target: Target, name: &str, capability: [u32; 2]) -> DeviceCosts {
        match &self.costs {
            Some(chosen) => DeviceCosts {
                target: target.with_costs(&chosen.costs),
                source: chosen.source.clone(),
                warnings: Vec::new(),
            },
            None => costs::of_device(target, name, capability),
        }
    }

    /// Returns the place of the costs that checks and the simulator use.
    pub fn costs_source(&self) -> CostsSource {
        self.costs.as_ref().map_or(CostsSource::Usual, |chosen| chosen.source.clone())
    }

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

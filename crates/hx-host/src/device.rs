//! Where kernels run, as the host side sees it: a launch with host values, and a report.
//!
//! The driver implements [`Device`] for the simulator and for a GPU; tests implement it with plain functions.

use hx_base::{Diagnostic, codes};
use hx_hir::{ItemKey, Name};

use crate::bench::{GemmRequest, Step, Times};
use crate::error::{HostError, HostResult};
use crate::value::Value;

/// Something that runs kernels.
pub trait Device {
    /// Checks the arguments against the kernel's signature, runs it, and leaves what it wrote in the tensors of its
    /// `mut` parameters. Returns when the kernel has ended.
    fn launch(&mut self, request: &LaunchRequest) -> Result<LaunchReport, LaunchError>;

    /// Multiplies with the vendor's library; the result is in `c` when it returns.
    fn gemm(&mut self, _: &GemmRequest) -> Result<(), LaunchError> {
        let error =
            HostError::new(&codes::NO_GPU, "`cublas::gemm` needs a GPU; the simulator has no such library");
        Err(LaunchError::call(error.help("`a @ b` computes the product in f64 on any machine")))
    }

    /// How many solutions the compiler has for the kernel of a launch, of which it builds the first unless a request says otherwise.
    fn candidates(&mut self, _: &LaunchRequest) -> Result<u32, LaunchError> {
        Ok(1)
    }

    /// What is known of the code of the kernel that was launched last.
    fn code(&mut self, _: &CodeQuestion) -> HostResult<CodeAnswer> {
        Ok(CodeAnswer::Unknown("kernels have no code here".to_owned()))
    }

    /// Whether kernels can be timed here, or why not.
    fn can_time(&self) -> HostResult<()> {
        let error = HostError::new(&codes::NO_GPU, "benches need a GPU; the simulator does not time");
        Err(error.help("`hx test` checks results on any machine"))
    }

    /// Times works in turn, each a sequence of steps whose time is one number. Nothing is left in host tensors. A device
    /// that only compiles gives no times.
    fn time(&mut self, _: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        self.can_time().map_err(LaunchError::call)?;
        Ok(Vec::new())
    }
}

/// `kernel<BM = 128>(a, b, c)`.
#[derive(Clone, Debug)]
pub struct LaunchRequest {
    pub kernel: ItemKey,
    /// Compile-time arguments in the order of the text.
    pub generics: Vec<(Name, Value)>,
    /// Run-time arguments in the order of the text.
    pub args: Vec<LaunchArg>,
    /// Which of the kernel's candidates runs, counted from the cheapest; nothing for the one that the device builds by itself.
    pub candidate: Option<u32>,
}

/// A run-time argument.
#[derive(Clone, Debug)]
pub struct LaunchArg {
    /// The parameter it names, if it names one.
    pub name: Option<Name>,
    pub value: Value,
    /// The value is held by no variable, so that writing it is without effect.
    pub temporary: bool,
}

/// A question about the code of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CodeQuestion {
    /// Whether there is an instruction whose dotted name begins with these parts.
    Uses(String),
    /// Wavefronts of shared memory beyond the fewest, of one block.
    Conflicts,
    /// Tensors that the compiler moves between threads because two operations want them in two layouts.
    Redistributions,
    /// Bytes that each thread stores and loads because registers ran out.
    Spills,
    /// Bytes of the narrowest access to a tensor.
    BytesPerAccess(String),
}

/// What is known of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CodeAnswer {
    Bool(bool),
    Int(i64),
    /// Nothing, for this reason.
    Unknown(String),
}

/// What a launch left behind besides its results.
#[derive(Clone, Debug, Default)]
pub struct LaunchReport {
    /// What the kernel printed.
    pub printed: Vec<String>,
    /// Arguments that the kernel writes, by position in the request.
    pub written: Vec<usize>,
    /// What the simulator counted, as a table.
    pub table: Option<String>,
}

/// Which part of a launch is at fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchPlace {
    /// The whole call.
    Call,
    /// A run-time argument, by position in the request.
    Arg(usize),
    /// A compile-time argument, by position in the request.
    Generic(usize),
}

/// Why a launch did not happen or did not end well.
#[derive(Clone, Debug)]
pub enum LaunchError {
    /// The launch is at fault, or the machine.
    Refused { error: Box<HostError>, place: LaunchPlace },
    /// The kernel is at fault, at places of its own.
    Found(Vec<Diagnostic>),
    /// The same after the kernel had printed something.
    After { printed: Vec<String>, error: Box<LaunchError> },
}

impl LaunchError {
    /// The whole call is at fault.
    pub fn call(error: HostError) -> LaunchError {
        LaunchError::Refused { error: Box::new(error), place: LaunchPlace::Call }
    }

    /// The error of a launch that printed before it failed.
    #[must_use]
    pub fn after(self, printed: Vec<String>) -> LaunchError {
        if printed.is_empty() { self } else { LaunchError::After { printed, error: Box::new(self) } }
    }

    /// The error, and the findings that say more than it.
    pub fn into_parts(self) -> (HostError, Vec<Diagnostic>) {
        match self {
            LaunchError::Refused { error, .. } => (*error, Vec::new()),
            LaunchError::Found(found) => (HostError::ty("a kernel failed"), found),
            LaunchError::After { error, .. } => error.into_parts(),
        }
    }

    /// A run-time argument is at fault.
    pub fn arg(index: usize, error: HostError) -> LaunchError {
        LaunchError::Refused { error: Box::new(error), place: LaunchPlace::Arg(index) }
    }
}

/// A device for evaluations that must not launch anything, such as the cases of a test.
#[derive(Debug, Default)]
pub struct NoDevice;

impl Device for NoDevice {
    fn launch(&mut self, _: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        Err(LaunchError::call(HostError::unsupported("kernels cannot be launched here")))
    }
}

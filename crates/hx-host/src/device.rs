//! The host's interface to the devices that run kernels: launches with host values, and reports.
//!
//! The driver implements [`Device`] for the simulator and for a GPU; tests implement it with plain functions.

use hx_base::{Diagnostic, codes};
use hx_hir::{ItemKey, Name};
use hx_layout::Layout;

use crate::compare::{Difference, difference};
use crate::error::{HostError, HostResult};
use crate::tensor::{HostTensor, Tensor};
use crate::value::Value;

/// A device that runs kernels.
pub trait Device {
    /// Checks the arguments against the kernel's signature, runs the kernel, and stores its results in the tensors of its `mut`
    /// parameters. Returns when the kernel has finished.
    ///
    /// # Errors
    /// If the arguments do not fit the signature, the kernel has errors, or it fails while it runs.
    fn launch(&mut self, request: &LaunchRequest) -> Result<LaunchReport, LaunchError>;

    /// Multiplies matrices with the vendor's library. The result is in `c` on return.
    ///
    /// # Errors
    /// If the device has no such library, or the library refuses the product. The default implementation always fails.
    fn gemm(&mut self, _: &GemmRequest) -> Result<(), LaunchError> {
        let error =
            HostError::new(&codes::NO_GPU, "`cublas::gemm` needs a GPU; the simulator has no such library");
        Err(LaunchError::call(error.help("`a @ b` computes the product in f64 on any machine")))
    }

    /// Returns the number of solutions that the compiler has for the kernel of a launch. It builds the first one unless a
    /// request names another.
    ///
    /// # Errors
    /// If the arguments do not fit the signature, or the kernel has errors.
    fn candidates(&mut self, _: &LaunchRequest) -> Result<u32, LaunchError> {
        Ok(1)
    }

    /// Returns the order in memory that the compiler infers for a tensor of a kernel: the block, or `None` for row-major order.
    ///
    /// # Errors
    /// If the kernel infers no order for such a tensor, or has errors.
    fn packed_order(&mut self, question: &OrderQuestion) -> Result<Option<Layout>, LaunchError> {
        let kernel = &question.kernel.name;
        Err(LaunchError::call(HostError::call(format!("nothing here infers the orders of `{kernel}`"))))
    }

    /// Announces launches of a request with each of its first `count` candidates, so that the device can compile them in
    /// parallel. A candidate that does not compile is reported when it is launched.
    fn announce(&mut self, _: &LaunchRequest, _count: u32) {}

    /// Answers a question about the code of the kernel that was launched last.
    ///
    /// # Errors
    /// If the code cannot be obtained.
    fn code(&mut self, _: &CodeQuestion) -> HostResult<CodeAnswer> {
        Ok(CodeAnswer::Unknown("kernels have no code here".to_owned()))
    }

    /// Checks that kernels can be timed on this device.
    ///
    /// # Errors
    /// The reason if they cannot. The default implementation always fails.
    fn can_time(&self) -> HostResult<()> {
        let error = HostError::new(&codes::NO_GPU, "benches need a GPU; the simulator does not time");
        Err(error.help("`hx test` checks results on any machine"))
    }

    /// Brings the contents of a tensor to the host, if only the device has them. The default device runs kernels on the host's memory.
    ///
    /// # Errors
    /// If the device has lost them.
    fn bring(&mut self, _: &Tensor) -> Result<(), LaunchError> {
        Ok(())
    }

    /// Keeps the present contents of a tensor until [`Device::forget`].
    ///
    /// # Errors
    /// If the device fails.
    fn keep(&mut self, tensor: &Tensor) -> Result<Kept, LaunchError> {
        Ok(Kept::Here(tensor.to_host()))
    }

    /// Replaces the contents of a tensor by kept ones, which [`Device::keep`] returned for the same tensor.
    ///
    /// # Errors
    /// If the contents were forgotten, or the device fails.
    fn put_back(&mut self, tensor: &Tensor, kept: &Kept) -> Result<(), LaunchError> {
        let packed = kept.here().map_err(LaunchError::call)?;
        tensor.write_packed(&packed.data).map_err(LaunchError::call)
    }

    /// Returns the largest difference of contents `x` from contents `y` of a tensor ([`difference`]).
    ///
    /// # Errors
    /// As for [`difference`], and if the device fails.
    fn difference(&mut self, _: &Tensor, x: &Kept, y: &Kept) -> Result<Difference, LaunchError> {
        let apart = || {
            let [x, y] = [x, y].map(|kept| kept.here().map(|host| Tensor::from_host(host.clone())));
            difference(&x?, &y?)
        };
        apart().map_err(LaunchError::call)
    }

    /// Forgets all kept contents.
    ///
    /// # Errors
    /// If the device fails.
    fn forget(&mut self) -> Result<(), LaunchError> {
        Ok(())
    }

    /// Times works in turn. Each work is a sequence of steps with one time for all of them. Host tensors are not changed. A
    /// device that only compiles returns no times.
    ///
    /// # Errors
    /// If kernels cannot be timed on this device, or a step fails.
    fn time(&mut self, _: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        self.can_time().map_err(LaunchError::call)?;
        Ok(Vec::new())
    }
}

/// A launch: `kernel<BM = 128>(a, b, c)`.
#[derive(Clone, Debug)]
pub struct LaunchRequest {
    pub kernel: ItemKey,
    /// Compile-time arguments in the order of the text.
    pub generics: Vec<(Name, Value)>,
    /// Run-time arguments in the order of the text.
    pub args: Vec<LaunchArg>,
    /// The index of the candidate to run, counted from the cheapest; `None` for the one that the device builds by default.
    pub candidate: Option<u32>,
}

/// An operation that a device performs.
#[derive(Clone, Debug)]
pub enum Step {
    Launch(LaunchRequest),
    /// A matrix product of the vendor's library.
    Gemm(GemmRequest),
    /// A copy from device memory to device memory.
    Copy {
        bytes: u64,
    },
    /// A read of device memory from start to end.
    Read {
        bytes: u64,
    },
}

/// Contents that a tensor had at one time.
#[derive(Clone, Debug)]
pub enum Kept {
    /// In the memory of the host.
    Here(HostTensor),
    /// In the memory of the device, which knows them by this number.
    There(u64),
}

impl Kept {
    /// Returns the contents in the memory of the host.
    ///
    /// # Errors
    /// If a device has them.
    pub fn here(&self) -> HostResult<&HostTensor> {
        match self {
            Kept::Here(host) => Ok(host),
            Kept::There(number) => Err(HostError::new(
                &codes::INTERNAL_ERROR,
                format!("the contents of number {number} are on another device"),
            )),
        }
    }
}

/// The peak rate of the instruction that a work's products use.
#[derive(Clone, PartialEq, Debug)]
pub struct Peak {
    /// The instruction: the slowest, if a work uses several.
    pub instruction: String,
    /// Its floating-point operations in a cycle of a multiprocessor, by its issue cycles.
    pub per_cycle: f64,
    pub multiprocessors: u32,
    /// The clock of the device, in GHz, as the driver states it.
    pub clock: f64,
}

impl Peak {
    /// Returns the operations in a second of the whole device.
    pub fn per_second(&self) -> f64 {
        self.per_cycle * f64::from(self.multiprocessors) * self.clock * 1e9
    }
}

/// `c[m, n] = a[m, k] · b[k, n]` by the vendor's library, accumulated in f32 and rounded to `c`'s type, or added in i32; with three
/// dimensions the products of a batch.
#[derive(Clone, Debug)]
pub struct GemmRequest {
    pub a: Tensor,
    pub b: Tensor,
    pub c: Tensor,
}

impl GemmRequest {
    /// Makes a request with the shapes `a[m, k]`, `b[k, n]` and `c[m, n]`, each with the same leading dimension in a batch.
    ///
    /// # Errors
    /// If the shapes do not fit, or the element types of `a` and `b` differ and are not both 8-bit floats.
    pub fn new(a: Tensor, b: Tensor, c: Tensor) -> HostResult<GemmRequest> {
        let shown = |t: &Tensor| crate::dense::show_shape(t.shape());
        let shapes = format!("the shapes are {}, {} and {}", shown(&a), shown(&b), shown(&c));
        let ([ga @ .., m, k], [gb @ .., kb, n], [gc @ .., mc, nc]) = (a.shape(), b.shape(), c.shape()) else {
            return Err(HostError::shape("`cublas::gemm` multiplies matrices").note(shapes));
        };
        if ga.len() > 1 {
            return Err(
                HostError::shape("`cublas::gemm` multiplies matrices and batches of them").note(shapes)
            );
        }
        if k != kb || m != mc || n != nc || ga != gc || gb != gc {
            let error = HostError::shape("`cublas::gemm(a, b, c)` needs a[m, k], b[k, n] and c[m, n]");
            let turned = b.shape() == [gc, &[*nc, *k]].concat() && m == mc;
            let error = error.note(shapes);
            return Err(if turned { error.help("`b.T` swaps the dimensions of `b`") } else { error });
        }
        let is_f8 = |t: &Tensor| t.dtype().is_float() && t.dtype().bits() == 8;
        if a.dtype() != b.dtype() && !(is_f8(&a) && is_f8(&b)) {
            let (a, b) = (a.dtype(), b.dtype());
            return Err(HostError::ty(format!("`cublas::gemm` multiplies equal types, found {a} and {b}")));
        }
        Ok(GemmRequest { a, b, c })
    }

    /// Returns the number of floating-point operations: a multiplication and an addition for each term.
    pub fn flops(&self) -> f64 {
        let k = self.a.shape().last().copied().unwrap_or(0);
        2.0 * self.c.len() as f64 * k as f64
    }
}

/// The times of repeated runs, in microseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Times {
    /// The time of each run, in order.
    pub samples: Vec<f64>,
    pub median: f64,
    /// The 20th percentile: a fifth of the runs were faster.
    pub low: f64,
    /// The 80th percentile: a fifth of the runs were slower.
    pub high: f64,
    /// The median in cycles beside the estimate, if the device was asked for both.
    pub cycles: Option<Cycles>,
    /// The peak of the instruction that the work's products use; `None` if it has no products, or the device does not know.
    pub peak: Option<Peak>,
}

/// The cycles of a work.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cycles {
    pub measured: f64,
    /// The cycles that the cost model estimates; `None` if some step is not a kernel launch.
    pub estimated: Option<f64>,
}

/// A run-time argument.
#[derive(Clone, Debug)]
pub struct LaunchArg {
    /// The name of the parameter, if the argument is named.
    pub name: Option<Name>,
    pub value: Value,
    /// Whether no variable holds the value, so that a write to it would be lost.
    pub temporary: bool,
}

/// A question about the order in memory that a kernel infers for a tensor: `pack(x, kernel<T = bf16>, of: "w")`.
#[derive(Clone, Debug)]
pub struct OrderQuestion {
    pub kernel: ItemKey,
    /// Compile-time arguments; only element types make a difference.
    pub generics: Vec<(Name, Value)>,
    /// The name of the parameter, if the question has one.
    pub param: Option<Name>,
    /// The element type of the tensor.
    pub dtype: hx_dtype::DType,
}

/// A question about the code of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CodeQuestion {
    /// Whether the code contains an instruction whose dotted name begins with these parts.
    Uses(String),
    /// Whether the target has an instruction whose dotted name begins with these parts.
    Supports(String),
    /// The wavefronts of shared memory beyond the minimum, for one block.
    Conflicts,
    /// The tensors that the compiler moves between threads because two operations require different layouts.
    Redistributions,
    /// The bytes that each thread stores and loads because registers were spilled.
    Spills,
    /// The architecture that the code is for.
    Target,
    /// The bytes of the narrowest access to the named tensor.
    BytesPerAccess(String),
}

/// The answer to a [`CodeQuestion`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CodeAnswer {
    Bool(bool),
    Int(i64),
    Name(String),
    /// The answer is unknown, for this reason.
    Unknown(String),
}

/// The results of a launch besides the contents of its tensors.
#[derive(Clone, Debug, Default)]
pub struct LaunchReport {
    /// The lines that the kernel printed.
    pub printed: Vec<String>,
    /// The arguments that the kernel writes, by position in the request.
    pub written: Vec<usize>,
    /// The counters of the simulator as text, if the device was asked to report them.
    pub counters: Option<String>,
    /// Lines for the user about the kernel's compile-time arguments, such as the file that they were taken from.
    pub remarks: Vec<String>,
}

/// The part of a launch that an error refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchPlace {
    /// The whole call.
    Call,
    /// A run-time argument, by position in the request.
    Arg(usize),
    /// A compile-time argument, by position in the request.
    Generic(usize),
}

/// The reason why a launch was refused or failed.
#[derive(Clone, Debug)]
pub enum LaunchError {
    /// The error is in the launch or the machine.
    Refused { error: Box<HostError>, place: LaunchPlace },
    /// The error is in the kernel; the diagnostics have places of their own.
    Found(Vec<Diagnostic>),
    /// The launch failed after the kernel had printed.
    After { printed: Vec<String>, error: Box<LaunchError> },
}

impl LaunchError {
    /// Makes an error that refers to the whole call.
    pub fn call(error: HostError) -> LaunchError {
        LaunchError::Refused { error: Box::new(error), place: LaunchPlace::Call }
    }

    /// Adds the lines that were printed before the launch failed.
    #[must_use]
    pub fn after(self, printed: Vec<String>) -> LaunchError {
        if printed.is_empty() { self } else { LaunchError::After { printed, error: Box::new(self) } }
    }

    /// Splits the error into a host error for the launch and the diagnostics of the kernel. If there are diagnostics, show them
    /// instead: they have places in the kernel.
    pub fn into_parts(self) -> (HostError, Vec<Diagnostic>) {
        match self {
            LaunchError::Refused { error, .. } => (*error, Vec::new()),
            LaunchError::Found(found) => (HostError::ty("a kernel failed"), found),
            LaunchError::After { error, .. } => error.into_parts(),
        }
    }

    /// Makes an error that refers to a run-time argument.
    pub fn arg(index: usize, error: HostError) -> LaunchError {
        LaunchError::Refused { error: Box::new(error), place: LaunchPlace::Arg(index) }
    }
}

/// A device for evaluations that must not launch kernels, such as those of a test's cases.
#[derive(Debug, Default)]
pub struct NoDevice;

impl Device for NoDevice {
    fn launch(&mut self, _: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        Err(LaunchError::call(HostError::unsupported("kernels cannot be launched here")))
    }
}

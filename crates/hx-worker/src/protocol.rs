//! The messages between the client and the worker.
//!
//! Messages are plain data with serde. Bytes travel as blobs of the frame; messages refer to them by number ([`Blob`]). The
//! worker answers every request with exactly one reply, which carries the request's number. Before the first request it sends
//! [`Hello`]. This module knows neither pipes nor CUDA.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use hx_tensor_map::TensorMap;
use serde::{Deserialize, Serialize};

use crate::log::{CompilerWarning, KernelResources};

/// Must change with every incompatible change of the messages.
pub const PROTOCOL_VERSION: u32 = 6;

/// The number of a blob in its frame.
pub type Blob = usize;

/// The first frame that a worker sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL_VERSION`] of the worker.
    pub protocol: u32,
}

/// A request with its number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RequestEnvelope {
    /// The number, which the client counts up.
    pub id: u64,
    /// The operation and its arguments.
    pub request: Request,
}

/// The answer to the request of the same number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplyEnvelope {
    /// The number of the request.
    pub id: u64,
    /// The answer, or the reason why there is none.
    pub reply: Result<Reply, RemoteError>,
}

/// The requests of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Report the driver, the devices and the compiler library.
    Probe { nvrtc: Option<NvrtcFiles> },
    /// Create the context of a device, so that the first launch need not.
    Warm { device: u32 },
    /// Compile CUDA text with this compiler library.
    Compile { nvrtc: NvrtcFiles, job: CompileJob },
    /// Run a kernel once.
    Launch(LaunchRequest),
    /// Run steps once, in order.
    Run { device: u32, steps: Vec<Step> },
    /// Run several works many times, interleaved, and report the time of each run.
    Time { device: u32, works: Vec<Work>, plan: TimePlan },
    /// Allocate device memory, zeroed.
    Alloc { device: u32, bytes: u64 },
    /// Write a blob into an allocation.
    Upload { buffer: u64, offset: u64, data: Blob },
    /// Fill a whole allocation with repetitions of a blob.
    Fill { buffer: u64, pattern: Blob },
    /// Read from an allocation.
    Download { buffer: u64, offset: u64, bytes: u64 },
    /// Free an allocation.
    Free { buffer: u64 },
}

/// The answers of a worker. Each variant answers the request of the corresponding name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Answers `Probe` with the parts of the machine that were found.
    Probe(Box<ProbeReport>),
    /// Answers `Warm`, `Run`, `Upload`, `Fill` and `Free`.
    Done,
    /// Answers `Compile`. The code is blob 0.
    Compiled { log: String, nvrtc_version: (u32, u32) },
    /// Answers `Launch`: the blob of each writable argument, and the time on the device.
    Launched { outputs: BTreeMap<usize, Blob>, gpu_ms: f32 },
    /// Answers `Time`: the milliseconds of each reported run, for each work in order.
    Timed { gpu_ms: Vec<Vec<f32>> },
    /// Answers `Alloc` with the number of the allocation.
    Allocated { buffer: u64 },
    /// Answers `Download`. The bytes are blob 0.
    Downloaded,
}

/// A kernel launch in its serialized form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchRequest {
    /// The number of the device, from 0.
    pub device: u32,
    /// The blake3 hash of the cubin, in hexadecimal digits.
    pub module: String,
    /// The cubin itself, if this worker does not have it yet.
    pub cubin: Option<Blob>,
    /// Name of the kernel in the cubin.
    pub symbol: String,
    /// Number of blocks in x, y, z.
    pub grid: [u32; 3],
    /// Number of blocks of a cluster in x, y, z; `[1, 1, 1]` launches without clusters.
    pub cluster: [u32; 3],
    /// Number of threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether the launch may start before those before it are complete: the kernel waits for them itself.
    pub waits_for_previous: bool,
    /// The arguments, in the order of the kernel's parameters.
    pub args: Vec<WireArg>,
}

/// A kernel parameter in its serialized form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WireArg {
    /// A pointer to fresh device memory that holds the blob. The content is sent back if `writable`.
    Buffer { data: Blob, writable: bool },
    /// A pointer that lies `offset` bytes into an allocation.
    Resident { buffer: u64, offset: u64 },
    /// Parameter bytes passed by value, little endian.
    Value { bytes: Vec<u8> },
    /// A tensor map, which the worker encodes for the pointer that the argument at [`TensorMap::param`] passes.
    TensorMap(TensorMap),
}

/// A step of a work or of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Run a kernel without reading its buffers back.
    Launch(LaunchRequest),
    /// Multiply matrices with the vendor's library.
    Gemm(GemmRequest),
    /// Copy the first `bytes` bytes from one allocation to another.
    Copy { from: u64, to: u64, bytes: u64 },
    /// Read the first `bytes` bytes of an allocation, a multiple of 16.
    Read { from: u64, bytes: u64 },
}

/// A unit of timing: its steps run one after another, and their total time is one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// At least one list of the same steps, each on different memory. Successive runs use them in turn.
    pub variants: Vec<Vec<Step>>,
}

/// The products `c[m, n] = a[m, k] · b[k, n]` of a batch, accumulated in f32, or in i32 if `a` and `b` are integers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GemmRequest {
    /// The path of cuBLASLt, found by [`crate::toolkit::find_cublaslt`].
    pub library: PathBuf,
    /// The number of products.
    pub batch: u64,
    /// Rows of `a` and `c`.
    pub m: u64,
    /// Columns of `b` and `c`.
    pub n: u64,
    /// Columns of `a`, rows of `b`.
    pub k: u64,
    /// `m` × `k`.
    pub a: WireMatrix,
    /// `k` × `n`.
    pub b: WireMatrix,
    /// `m` × `n`, written.
    pub c: WireMatrix,
}

/// A matrix in an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireMatrix {
    /// The number of the allocation.
    pub buffer: u64,
    /// Offset from its start, in bytes.
    pub offset: u64,
    /// The type of the elements in memory.
    pub element: Element,
    /// Distance in elements from a row to the next, and from a column to the next. One of them is 1, unless there is a single
    /// row or column.
    pub strides: [u64; 2],
    /// Distance in elements to the next matrix of the batch.
    pub apart: u64,
}

/// The element types that the vendor's matrix product supports here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Element {
    /// IEEE half precision, 16 bits.
    F16,
    /// Half precision with the exponents of f32.
    Bf16,
    /// IEEE single precision; operands are not rounded to tf32.
    F32,
    /// Single precision, of whose fraction a product uses 10 bits.
    Tf32,
    /// 8 bits, 3 of them for the fraction.
    F8e4m3,
    /// 8 bits, 2 of them for the fraction.
    F8e5m2,
    /// Signed integers of 8 bits.
    I8,
    /// Integers of 32 bits, for results.
    I32,
}

impl Element {
    /// Returns the size in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Element::F16 | Element::Bf16 => 2,
            Element::F32 | Element::Tf32 | Element::I32 => 4,
            Element::F8e4m3 | Element::F8e5m2 | Element::I8 => 1,
        }
    }
}

/// The number of runs of timed works.
///
/// A round is one run of every work. Rounds interleave the works, so that clocks and temperature affect all of them alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimePlan {
    /// The minimal number of unreported rounds.
    pub warmup: u32,
    /// The minimal time of unreported rounds, in milliseconds, which lets the clocks rise.
    pub warmup_ms: u32,
    /// The maximal number of reported rounds.
    pub repeats: u32,
    /// The time limit of reported rounds, in milliseconds. It reduces their number, but to no less than five.
    pub budget_ms: u32,
    /// Whether to empty the L2 cache before each reported run.
    pub flush_l2: bool,
}

impl Default for TimePlan {
    fn default() -> TimePlan {
        TimePlan { warmup: 10, warmup_ms: 100, repeats: 100, budget_ms: 3000, flush_l2: true }
    }
}

impl TimePlan {
    /// Returns the number of reported rounds if one round takes `round_ms` milliseconds.
    pub fn rounds(&self, round_ms: f64) -> u32 {
        const FEWEST: u32 = 5;
        let affordable = f64::from(self.budget_ms) / round_ms.max(1e-6);
        let affordable = if affordable < f64::from(u32::MAX) { affordable as u32 } else { u32::MAX };
        self.repeats.min(affordable.max(FEWEST)).max(1)
    }
}

/// The files of the compiler library, found by [`crate::toolkit`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvrtcFiles {
    /// The path of `libnvrtc`.
    pub library: PathBuf,
    /// Its companion with the built-in definitions, which must be loaded first.
    pub builtins: Option<PathBuf>,
}

/// The kind of code to produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Want {
    /// Machine code for exactly one architecture.
    Cubin,
    /// PTX, the assembly text from which machine code is made.
    Ptx,
}

/// CUDA text to compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileJob {
    /// The CUDA C++ text.
    pub source: String,
    /// The file name in the compiler's messages.
    pub file_name: String,
    /// The real architecture, as in `sm_90a`.
    pub arch: String,
    /// Options besides the architecture, such as [`CompileJob::OPTIONS`].
    pub options: Vec<String>,
    /// The kind of code to produce.
    pub want: Want,
}

impl CompileJob {
    /// The options of every compile: a resource report, line tables, and no contraction of `a * b + c`, which the simulator would
    /// not reproduce.
    pub const OPTIONS: [&str; 3] = ["--ptxas-options=-v", "-lineinfo", "--fmad=false"];

    /// Makes the job for the machine code of a kernel's text. All code that compiles kernels must make its jobs here, so that a
    /// kernel that one command cached is a hit for the others.
    pub fn of_kernel(source: impl Into<String>, symbol: &str, arch: impl Into<String>) -> CompileJob {
        CompileJob::new(source, format!("{symbol}.cu"), arch)
    }

    /// Returns the job with another level of the assembler, 0 to 3; its own without one.
    #[must_use]
    pub fn at_level(mut self, level: Option<u8>) -> CompileJob {
        self.options.extend(level.map(|level| format!("--ptxas-options=-O{level}")));
        self
    }

    /// Makes a job for a cubin with [`CompileJob::OPTIONS`].
    pub fn new(
        source: impl Into<String>,
        file_name: impl Into<String>,
        arch: impl Into<String>,
    ) -> CompileJob {
        CompileJob {
            source: source.into(),
            file_name: file_name.into(),
            arch: arch.into(),
            options: Self::OPTIONS.map(str::to_owned).to_vec(),
            want: Want::Cubin,
        }
    }
}

/// Compiled code with the output of the compiler.
#[derive(Clone, PartialEq, Eq)]
pub struct Compiled {
    /// Cubin bytes or PTX text.
    pub code: Vec<u8>,
    /// The compiler's log, unchanged.
    pub log: String,
    /// Registers, spills and memory of each kernel, from the log. Empty for PTX.
    pub kernels: Vec<KernelResources>,
    /// Warnings in the log, including the notes on lost performance (`C75xx`).
    pub warnings: Vec<CompilerWarning>,
    /// Major and minor version of the compiler library.
    pub nvrtc_version: (u32, u32),
}

impl Compiled {
    /// Returns the resources of a kernel, as the assembler reported them. PTX has none.
    pub fn kernel(&self, symbol: &str) -> Option<&KernelResources> {
        self.kernels.iter().find(|kernel| kernel.symbol == symbol)
    }
}

impl fmt::Debug for Compiled {
    /// Formats everything but the code itself, of which only the size is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Compiled { code, log, kernels, warnings, nvrtc_version } = self;
        f.debug_struct("Compiled")
            .field("code", &format_args!("{} bytes", code.len()))
            .field("log", log)
            .field("kernels", kernels)
            .field("warnings", warnings)
            .field("nvrtc_version", nvrtc_version)
            .finish()
    }
}

/// The parts of a machine. An absent part is a value with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// The CUDA driver, with the newest CUDA version that it supports.
    pub driver: Result<DriverInfo, Absence>,
    /// The devices; an absence when the driver is missing or reports none.
    pub devices: Result<Vec<DeviceInfo>, Absence>,
    /// The compiler library, if it loads.
    pub nvrtc: Result<NvrtcInfo, Absence>,
}

/// Facts about the CUDA driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverInfo {
    /// The newest CUDA version that it supports.
    pub cuda_version: (u32, u32),
}

/// A GPU that the driver reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// The number of the device, from 0.
    pub ordinal: u32,
    /// The product's name, such as `NVIDIA H200`.
    pub name: String,
    /// The compute capability, major and minor, such as `(9, 0)`.
    pub capability: (u32, u32),
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The clock of the multiprocessors that the driver states, in kHz: the highest one. 0 if it states none.
    pub clock_khz: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// L2 cache in bytes.
    pub l2_bytes: u64,
    /// The largest shared memory of a block, in bytes, with the opt-in that a launch makes.
    pub shared_bytes_per_block: u32,
}

impl DeviceInfo {
    /// Returns the architecture for which a kernel must be compiled: `sm_90a` for 9.0, `sm_80` for 8.0.
    pub fn arch(&self) -> String {
        let (major, minor) = self.capability;
        // From 9.0 on, the architecture-specific set is necessary: only it has the matrix instructions.
        let suffix = if major >= 9 { "a" } else { "" };
        format!("sm_{major}{minor}{suffix}")
    }
}

/// The compiler library after loading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvrtcInfo {
    /// The major and minor version of the library.
    pub version: (u32, u32),
    /// The file from which it was loaded.
    pub library: PathBuf,
}

/// A part that can be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Component {
    /// The library of the CUDA driver, `libcuda`.
    Driver,
    /// A GPU that the driver reports.
    Device,
    /// The CUDA compiler library, NVRTC.
    Nvrtc,
    /// The program `nvdisasm`.
    Disassembler,
    /// The vendor's library of matrix products.
    Cublas,
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Component::Driver => "the CUDA driver",
            Component::Device => "a GPU",
            Component::Nvrtc => "the CUDA compiler (NVRTC)",
            Component::Disassembler => "the disassembler (nvdisasm)",
            Component::Cublas => "the matrix library (cuBLASLt)",
        })
    }
}

/// A missing part, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// The kind of the missing part.
    pub component: Component,
    /// The reason, in lower case and without a final stop.
    pub reason: String,
    /// The places that were searched, in order.
    pub looked_in: Vec<String>,
    /// What the user can do, in lower case and without a final stop.
    pub help: Option<String>,
}

impl Absence {
    /// Makes an absence with only its reason.
    pub fn new(component: Component, reason: impl Into<String>) -> Absence {
        Absence { component, reason: reason.into(), looked_in: Vec::new(), help: None }
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not available: {}", self.component, self.reason)
    }
}

impl std::error::Error for Absence {}

/// An error of the CUDA driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CudaFault {
    /// The operation of the worker that failed, such as `reading device memory`.
    pub during: String,
    /// The driver's number of the error (`CUresult`).
    pub code: u32,
    /// The driver's name for the code.
    pub name: String,
    /// The driver's text for the code.
    pub text: String,
    /// Whether the error loses the context, so that the worker must be restarted.
    pub sticky: bool,
}

impl fmt::Display for CudaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {} ({}, code {})", self.during, self.text, self.name, self.code)
    }
}

/// An error that the worker reports. The worker survives it, unless a fault is sticky.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RemoteError {
    /// A part that the request needs is missing.
    #[error("{0}")]
    Absent(Absence),
    /// The compiler refused the CUDA text.
    #[error("the CUDA compiler refused the text ({status})")]
    Refused {
        /// The compiler's name for the failure.
        status: String,
        /// The compiler's log, unchanged.
        log: String,
    },
    /// The driver reported an error, such as a fault of a kernel.
    #[error("{0}")]
    Cuda(CudaFault),
    /// A library of the vendor refused a call.
    #[error("{library} failed while {during}: {status}")]
    Library {
        /// The name of the library, for messages.
        library: String,
        /// The operation that failed, for messages.
        during: String,
        /// The library's name for the failure.
        status: String,
    },
    /// The request is invalid: an unknown buffer, a missing blob, an exceeded limit.
    #[error("{0}")]
    BadRequest(String),
}

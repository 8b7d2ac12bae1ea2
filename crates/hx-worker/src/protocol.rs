//! The messages between the client and the worker.
//!
//! Plain data with serde; bytes travel as blobs of the frame and are named by their number in it ([`Blob`]).
//! The worker answers every request with exactly one reply that carries the request's number; before the first
//! request it says [`Hello`].
//! This module knows neither pipes nor CUDA.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::log::{CompilerWarning, KernelResources};

/// Changes with every incompatible change of the messages.
pub const PROTOCOL_VERSION: u32 = 2;

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
    /// Counted up by the client.
    pub id: u64,
    /// What is asked.
    pub request: Request,
}

/// The answer to the request of the same number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplyEnvelope {
    /// The number of the request.
    pub id: u64,
    /// What came of it.
    pub reply: Result<Reply, RemoteError>,
}

/// What a client can ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// What is there: driver, devices, the compiler library.
    Probe { nvrtc: Option<NvrtcFiles> },
    /// Make the context of a device, so that the first launch need not.
    Warm { device: u32 },
    /// Compile CUDA text.
    Compile { nvrtc: NvrtcFiles, job: CompileJob },
    /// Run a kernel once.
    Launch(LaunchRequest),
    /// Run steps once, in order.
    Run { device: u32, steps: Vec<Step> },
    /// Run several works many times in turn and report the time of each run.
    Time { device: u32, works: Vec<Work>, plan: TimePlan },
    /// Allocate device memory, zeroed.
    Alloc { device: u32, bytes: u64 },
    /// Write a blob into an allocation.
    Upload { buffer: u64, offset: u64, data: Blob },
    /// Fill a whole allocation with repetitions of a blob.
    Fill { buffer: u64, pattern: Blob },
    /// Read from an allocation.
    Download { buffer: u64, offset: u64, bytes: u64 },
    /// Give an allocation back.
    Free { buffer: u64 },
}

/// What a worker answers; each variant belongs to the request of the like name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// To `Probe`.
    Probe(Box<ProbeReport>),
    /// To `Warm`, `Run`, `Upload`, `Fill` and `Free`.
    Done,
    /// To `Compile`; the code is blob 0.
    Compiled { log: String, nvrtc_version: (u32, u32) },
    /// To `Launch`: the blob of each argument that was writable, and the time on the device.
    Launched { outputs: BTreeMap<usize, Blob>, gpu_ms: f32 },
    /// To `Time`: milliseconds of each repeat, for each work in order.
    Timed { gpu_ms: Vec<Vec<f32>> },
    /// To `Alloc`.
    Allocated { buffer: u64 },
    /// To `Download`; the bytes are blob 0.
    Downloaded,
}

/// A kernel launch as it travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchRequest {
    /// Ordinal of the device.
    pub device: u32,
    /// blake3 of the cubin, in hexadecimal digits.
    pub module: String,
    /// The cubin itself, when this worker has not had it yet.
    pub cubin: Option<Blob>,
    /// Name of the kernel in the cubin.
    pub symbol: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Blocks of a cluster in x, y, z; `[1, 1, 1]` launches without clusters.
    pub cluster: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Kernel parameters in order.
    pub args: Vec<WireArg>,
}

/// A kernel parameter as it travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WireArg {
    /// A pointer to fresh device memory holding the blob; written back when `writable`.
    Buffer { data: Blob, writable: bool },
    /// A pointer into an allocation.
    Resident { buffer: u64, offset: u64 },
    /// Parameter bytes passed by value, little endian.
    Value { bytes: Vec<u8> },
}

/// One thing to do on the device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Run a kernel.
    Launch(LaunchRequest),
    /// Multiply matrices with the vendor's library.
    Gemm(GemmRequest),
    /// Copy device memory.
    Copy { from: u64, to: u64, bytes: u64 },
}

/// What is timed as one: its steps follow each other, and their time is one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// The same steps over different memory; repeats take them in turn. At least one.
    pub variants: Vec<Vec<Step>>,
}

/// `c[m, n] = a[m, k] · b[k, n]`, accumulated in f32.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GemmRequest {
    /// The library, found by [`crate::toolkit::find_cublaslt`].
    pub library: PathBuf,
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
    /// The allocation.
    pub buffer: u64,
    /// Bytes from its start.
    pub offset: u64,
    /// What it holds.
    pub element: Element,
    /// Elements from a row to the next, and from a column to the next; one of them is 1.
    pub strides: [u64; 2],
}

/// Element types that the vendor's matrix product is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Element {
    /// IEEE half precision.
    F16,
    /// Half precision with the exponents of f32.
    Bf16,
    /// IEEE single precision; operands are not rounded to tf32.
    F32,
}

impl Element {
    /// Size in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Element::F16 | Element::Bf16 => 2,
            Element::F32 => 4,
        }
    }
}

/// How often timed works run.
///
/// A round is one run of every work. Rounds interleave the works, so that clocks and temperature weigh on all alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimePlan {
    /// At least so many rounds are not reported.
    pub warmup: u32,
    /// Unreported rounds go on for at least so many milliseconds, until the clocks are up.
    pub warmup_ms: u32,
    /// At most so many rounds are reported.
    pub repeats: u32,
    /// Fewer rounds are reported where they would take longer than so many milliseconds, but at least five.
    pub budget_ms: u32,
    /// Empty the L2 cache before each reported run.
    pub flush_l2: bool,
}

impl Default for TimePlan {
    fn default() -> TimePlan {
        TimePlan { warmup: 10, warmup_ms: 100, repeats: 100, budget_ms: 3000, flush_l2: true }
    }
}

impl TimePlan {
    /// The reported rounds where one round takes so many milliseconds.
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
    /// The library.
    pub library: PathBuf,
    /// Its companion with the built-in definitions, which has to be loaded first.
    pub builtins: Option<PathBuf>,
}

/// What code is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Want {
    /// Machine code for exactly one architecture.
    Cubin,
    /// The assembly text in front of it.
    Ptx,
}

/// CUDA text to compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileJob {
    /// The text.
    pub source: String,
    /// The name in the compiler's messages.
    pub file_name: String,
    /// The real architecture, as in `sm_90a`.
    pub arch: String,
    /// Options besides the architecture.
    pub options: Vec<String>,
    /// Cubin or PTX.
    pub want: Want,
}

impl CompileJob {
    /// The options that the project compiles with: a resource report, line tables, and no contraction of `a * b + c`
    /// behind the simulator's back.
    pub const OPTIONS: [&str; 3] = ["--ptxas-options=-v", "-lineinfo", "--fmad=false"];

    /// A job for a cubin with [`CompileJob::OPTIONS`].
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

/// Compiled code with what the compiler said.
#[derive(Clone, PartialEq, Eq)]
pub struct Compiled {
    /// Cubin bytes or PTX text.
    pub code: Vec<u8>,
    /// The compiler's log, as it came.
    pub log: String,
    /// Registers, spills and memory of each kernel, from the log; empty for PTX.
    pub kernels: Vec<KernelResources>,
    /// Warnings in the log, the notes on lost performance (`C75xx`) among them.
    pub warnings: Vec<CompilerWarning>,
    /// Major and minor version of the compiler library.
    pub nvrtc_version: (u32, u32),
}

impl fmt::Debug for Compiled {
    /// Without the code itself, of which only the size says anything to a reader.
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

/// What a machine has; each absence is a value with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// The driver.
    pub driver: Result<DriverInfo, Absence>,
    /// The devices; an absence when the driver is missing or reports none.
    pub devices: Result<Vec<DeviceInfo>, Absence>,
    /// The compiler library.
    pub nvrtc: Result<NvrtcInfo, Absence>,
}

/// The CUDA driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverInfo {
    /// The newest CUDA version that it supports.
    pub cuda_version: (u32, u32),
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Ordinal, counted from 0.
    pub ordinal: u32,
    /// The product's name.
    pub name: String,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// L2 cache in bytes.
    pub l2_bytes: u64,
    /// The most shared memory of one block, in bytes, with the opt-in that a launch makes.
    pub shared_bytes_per_block: u32,
}

impl DeviceInfo {
    /// The architecture name that a kernel must be compiled for: `sm_90a` for 9.0, `sm_80` for 8.0.
    pub fn arch(&self) -> String {
        let (major, minor) = self.capability;
        // From 9.0 on, the matrix instructions exist only in the architecture-specific set.
        let suffix = if major >= 9 { "a" } else { "" };
        format!("sm_{major}{minor}{suffix}")
    }
}

/// The compiler library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvrtcInfo {
    /// Major and minor version.
    pub version: (u32, u32),
    /// The file it was loaded from.
    pub library: PathBuf,
}

/// A part that can be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Component {
    /// The CUDA driver library.
    Driver,
    /// A GPU.
    Device,
    /// The CUDA compiler library.
    Nvrtc,
    /// `nvdisasm`.
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

/// A part that is missing, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// What is missing.
    pub component: Component,
    /// Why, in lower case and without a final stop.
    pub reason: String,
    /// Where it was looked for, in order.
    pub looked_in: Vec<String>,
    /// What would help, in the same form.
    pub help: Option<String>,
}

impl Absence {
    /// An absence with nothing but its reason.
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
    /// What the worker was doing.
    pub during: String,
    /// The driver's code.
    pub code: u32,
    /// The driver's name of it.
    pub name: String,
    /// The driver's text for it.
    pub text: String,
    /// True when the context is lost with it, so that the worker has to be restarted.
    pub sticky: bool,
}

impl fmt::Display for CudaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {} ({}, code {})", self.during, self.text, self.name, self.code)
    }
}

/// An error that the worker reports and survives, unless a fault is sticky.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RemoteError {
    /// Something that the request needs is missing.
    #[error("{0}")]
    Absent(Absence),
    /// The compiler refused the text.
    #[error("the CUDA compiler refused the text ({status})")]
    Refused {
        /// The compiler's name of the failure.
        status: String,
        /// Its log.
        log: String,
    },
    /// The driver reported an error.
    #[error("{0}")]
    Cuda(CudaFault),
    /// A library of the vendor refused a call.
    #[error("{library} failed while {during}: {status}")]
    Library {
        /// Its name.
        library: String,
        /// What it was asked to do.
        during: String,
        /// Its name of the failure.
        status: String,
    },
    /// The request makes no sense: an unknown buffer, a blob that is not there, a limit passed.
    #[error("{0}")]
    BadRequest(String),
}

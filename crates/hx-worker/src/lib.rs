//! The protocol and the client of the worker process.
//!
//! CUDA text is compiled and kernels run in a child process (`hx worker`), so that a fault, a hang or a crash there is an
//! error value here and does not end the session. This crate is the caller's side: the messages ([`protocol`]) and their
//! framing ([`frame`]), the process with its deadlines ([`WorkerClient`]), the search for the compiler library
//! ([`toolkit`]) in folders that the user [trusts](trust) or [fetched](mod@fetch), the cache of compiled kernels
//! ([`Cache`]), and the parser of compiler logs ([`log`]).
//!
//! Invariant: the crate makes no CUDA call (those are in `hx-runtime`, inside the worker) and uses no other crate of
//! ours but the description of tensor maps. It does not know how CUDA text is generated.
//!
//! Start at [`WorkerClient`], or at [`Compiler`] for compiling through the cache, or at [`CompilerPool`] for compiling several
//! texts at the same time.

#![allow(
    clippy::disallowed_methods,
    reason = "the cache of kernels, the search for the CUDA compiler, and the worker process"
)]

mod cache;
mod client;
mod compiler;
mod disasm;
mod error;
pub mod fetch;
pub mod folders;
pub mod frame;
mod limits;
pub mod log;
pub mod own_files;
mod pool;
mod process;
pub mod protocol;
mod timing;
pub mod toolkit;
pub mod trust;

pub use cache::{Cache, CacheSize, CacheWarning, CompilerId, Lookup};
pub use client::{Arg, Buffer, Launch, LaunchResult, WorkerClient};
pub use compiler::{CompileError, Compiler, Outcome};
pub use disasm::{ListedLine, Listing, disassemble};
pub use error::WorkerError;
pub use hx_tensor_map::TensorMap;
pub use limits::Limits;
pub use pool::CompilerPool;
pub use process::WorkerCommand;
pub use protocol::{
    Absence, CompileJob, Compiled, Component, CudaFault, DeviceInfo, DriverInfo, Element, NvrtcInfo,
    ProbeReport, RemoteError, TimePlan, Want,
};
pub use timing::{Gemm, Matrix, Step, Timing, Work};

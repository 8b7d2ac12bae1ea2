//! The protocol and the client of the worker process.
//!
//! Compiling CUDA text and running kernels happen in a child process (`hx worker`), so that a fault, a hang or a
//! crash there is an error value here and costs nobody their session.
//! This crate holds everything that the caller's side needs: the messages ([`protocol`]), the framing of them
//! ([`frame`]), the process with its deadlines ([`WorkerClient`]), the search for the compiler library ([`toolkit`]) in
//! what the user [trusts](trust) or [fetched](mod@fetch), the cache of compiled kernels ([`Cache`]) and the reading of
//! compiler logs ([`log`]).
//!
//! It knows no CUDA call (those are in `hx-runtime`, inside the worker) and nothing of how CUDA text comes about.
//!
//! Start at [`WorkerClient`], or at [`Compiler`] for compiling through the cache.

mod cache;
mod client;
mod compiler;
mod disasm;
mod error;
pub mod fetch;
pub mod folders;
pub mod frame;
pub mod log;
pub mod own_files;
mod process;
pub mod protocol;
mod timing;
pub mod toolkit;
pub mod trust;

pub use cache::{Cache, CacheSize, CacheWarning, CompilerId, Lookup};
pub use client::{Arg, Buffer, Launch, LaunchResult, Limits, WorkerClient};
pub use compiler::{CompileError, Compiler, Outcome};
pub use disasm::{ListedLine, Listing, disassemble};
pub use error::WorkerError;
pub use process::WorkerCommand;
pub use protocol::{
    Absence, CompileJob, Compiled, Component, CudaFault, DeviceInfo, DriverInfo, Element, NvrtcInfo,
    ProbeReport, RemoteError, TimePlan, Want,
};
pub use timing::{Gemm, Matrix, Step, Timing, Work};

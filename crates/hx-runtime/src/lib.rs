//! The inside of the worker process: the CUDA compiler, loading, launching and device memory.
//!
//! This is the only crate that calls CUDA: [`nvrtc`] calls the compiler library, [`cublaslt`] the matrix library, and the other
//! modules with `unsafe` code the driver. It runs in a child process of the client in `hx-worker`, which also has the messages,
//! the cache and the search for files. The one exception is [`direct`], which launches in the process of a caller that owns the
//! tensors.
//!
//! Invariant: the crate knows no hx source and no tile; it compiles text and runs symbols.
//!
//! Start at [`serve`].

mod cublaslt;
pub mod direct;
mod elf;
mod enqueue;
mod fault;
mod flush;
mod gpu;
mod image;
mod launch;
mod library;
mod map;
mod memory;
mod nvrtc;
mod serve;
mod timing;

pub use serve::serve;

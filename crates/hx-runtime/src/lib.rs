//! The inside of the worker process: the CUDA compiler, loading, launching and device memory.
//!
//! The only crate that calls CUDA, and the only one with `unsafe` code: [`nvrtc`] at the compiler library, [`cublaslt`]
//! at the matrix library, [`gpu`], [`launch`], [`timing`] and [`flush`] at the driver. Everything here runs in a child process of the client in `hx-worker`, which also holds the messages,
//! the cache and the search for files.
//! This crate knows no hx source and no tile; it compiles text and runs symbols.
//!
//! Start at [`serve`].

mod cublaslt;
mod elf;
mod flush;
mod gpu;
mod launch;
mod library;
mod nvrtc;
mod serve;
mod timing;

pub use serve::serve;

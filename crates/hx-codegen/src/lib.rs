//! Thread programs as CUDA C++ with inline PTX, and what a launch of them needs.
//!
//! [`cuda`] is a pure function to text: no headers, deterministic, one comment for each tile operation. All arithmetic on elements
//! is PTX from the rows of `hx-target`; C++ computes addresses, guards and packing. The crate knows no instruction by name, no
//! compiler and no device. Start at [`cuda`].

mod access;
mod asm;
mod compute;
mod emit;
mod expr;
mod instruction;
mod launch;
mod log;
mod names;
mod storage;

pub use emit::{Lines, MalformedProgram, cuda, cuda_with_lines};
pub use launch::{CudaSource, LaunchDescription, LaunchParam};

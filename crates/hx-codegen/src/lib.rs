//! Emits thread programs as CUDA C++ with inline PTX, and describes how to launch them.
//!
//! [`cuda`] is a pure function from a program to text: no headers, deterministic, one comment for each tile operation.
//! All arithmetic on elements is PTX from the rows of `hx-target`; C++ computes addresses, guards and packing.
//!
//! Invariant: the crate knows no instruction by name, no compiler, no device and no source text.
//!
//! Start at [`cuda`].

mod access;
mod asm;
mod atomic;
mod bulk;
mod compute;
mod counter;
mod emit;
mod expr;
mod inlined;
mod instruction;
mod launch;
mod log;
mod names;
mod number;
mod pipe;
mod product;
mod roles;
mod storage;
mod unused;

pub use asm::opcodes;
pub use emit::{Lines, MalformedProgram, cuda, cuda_with_lines};
pub use inlined::inlined_faults;
pub use launch::{CudaSource, LaunchDescription, LaunchParam};
pub use names::{identifier, is_keyword};

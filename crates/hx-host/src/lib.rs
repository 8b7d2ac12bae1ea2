//! The host side of the language: tensors on the CPU, reference arithmetic, files, and (in `eval`) the evaluation of
//! test, bench and `main` bodies against a [`Device`](device::Device).
//!
//! Invariant: the crate runs no kernel: every launch goes to a [`Device`](device::Device). It knows no flags, no terminal and
//! no GPU.
//!
//! Start at [`Tensor`] for data and at [`compare::assert_close`] for the
//! comparison of results.

pub mod archive;
pub mod arith;
pub mod bench;
mod bits;
mod buffer;
pub mod compare;
pub mod counted;
pub mod dense;
pub mod device;
pub mod domain;
pub mod error;
pub mod eval;
pub mod index;
pub mod matmul;
pub mod memory;
pub mod npy;
mod order;
pub mod pack;
pub mod pattern;
pub mod picture;
pub mod random;
pub mod recipe;
pub mod reduce;
pub mod show;
mod stretch;
pub mod tensor;
pub mod value;

#[cfg(test)]
mod tests;

pub use buffer::Life;
pub use dense::{Dense, Numbers};
pub use error::{HostError, HostResult};
pub use tensor::{HostTensor, Tensor};
pub use value::Value;

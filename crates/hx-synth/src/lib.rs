//! Synthesis: a layout for every tensor and an instruction for every operation of a tile program.
//!
//! The stages follow the paper (Hexcute, CGO 2026, sections IV and V): register tensors that share a layout form components
//! ([`component`]); each component gets an anchor, a gemm or the copy that moves most ([`anchor`]); the rest follows by propagation
//! ([`propagate`]); accesses to shared memory make layout constraints that are unified, filled and swizzled ([`shared`]).
//! Instructions are rows of the catalogue; none is known by name. The crate knows nothing of incremental queries or CUDA text.
//! Start at [`solve`].

mod access;
mod anchor;
mod component;
mod cost;
mod distribution;
mod failure;
mod pinned;
mod propagate;
mod reduce;
mod shared;
mod size;
mod solve;
#[cfg(test)]
mod tests;

pub use failure::{Failure, FailureKind, Part};
pub use solve::solve;

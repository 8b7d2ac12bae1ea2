//! Synthesis: a layout for every tensor and an instruction for every operation of a tile program.
//!
//! The stages follow the paper (Hexcute, CGO 2026, sections IV and V): operations become constraints ([`constraints`]); register
//! tensors that constraints tie together form components ([`component`]); the search gives each component its anchors, gemms or the
//! copies that move most ([`search`], [`anchor`]), and the rest follows from the constraints by a work-list; accesses to shared
//! memory make layout constraints that are unified, filled and swizzled ([`shared`]).
//! Instructions are rows of the catalogue; none is known by name. The crate knows nothing of incremental queries or CUDA text.
//! Start at [`solve`].

mod access;
mod anchor;
mod choices;
mod component;
mod conflict;
mod constraints;
mod convertible;
mod cost;
mod distribution;
mod failure;
mod family;
mod parts;
mod pinned;
mod pool;
mod reduce;
mod route;
mod search;
mod second;
mod shared;
mod size;
mod solve;
#[cfg(test)]
mod tests;

pub use anchor::gemm::unfit_matrix_instructions;
pub use conflict::{Claim, Conflict, Repair, explain, restricted};
pub use convertible::is_convertible;
pub use failure::{Failure, FailureKind, Part, first_later};
pub use second::{Second, second_buffer};
pub use size::{SPARE_REGISTERS, fits_registers};
pub use solve::{CANDIDATES, candidates, demands, solve};

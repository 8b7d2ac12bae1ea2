//! Synthesizes a layout for every tensor and selects an instruction for every operation of a tile program.
//!
//! The stages follow the paper (Hexcute, CGO 2026, sections IV and V). Operands of products in shared memory get loads,
//! or stay where an instruction can read them by descriptor ([`loads`]); the cheapest of these routes wins ([`solve`]).
//! Operations become constraints ([`constraints`]).
//! Register tensors that constraints tie together form components ([`component`]). The search anchors each component at
//! its gemms or at the copies that move most ([`search`], [`anchor`]); a work-list derives the remaining layouts from the
//! constraints. Accesses to shared memory become layout constraints, which are unified, filled and swizzled ([`shared`]);
//! descriptors and the boxes of bulk copies join this unification with swizzles that the hardware names.
//!
//! Invariant: the crate sees a tile program and rows of the catalogue, and knows no instruction by name. It knows no
//! text, no query and no thread program.
//!
//! Start at [`solve`].

mod access;
mod anchor;
mod choices;
mod component;
mod conflict;
mod constraints;
mod conversion;
mod convertible;
mod cost;
mod crossing;
mod cx;
mod cycles;
mod distribution;
mod estimate;
mod failure;
mod family;
mod floor;
mod layouts;
mod loads;
mod parts;
mod pinned;
mod pipes;
mod pool;
mod reduce;
mod reshape;
mod route;
mod search;
mod second;
mod shared;
mod size;
mod solve;
mod solver;
mod staged;
mod stream;
#[cfg(test)]
mod tests;

pub use anchor::gemm::unfit_matrix_instructions;
pub use component::UNKNOWN_TRIPS;
pub use conflict::{Claim, Conflict, Repair, explain, restricted};
pub use convertible::is_convertible;
pub use estimate::{Bottleneck, Forecast, compared, estimate, estimate_any, forecast, wave_cycles};
pub use failure::{Failure, FailureKind, Part, first_later};
pub use loads::loads;
pub use second::{Second, second_buffer};
pub use size::{SPARE_REGISTERS, fits_registers, registers_of_a_thread};
pub use solve::{candidates, demands, solve};
pub use solver::CANDIDATES;
pub use staged::source_of_store;

//! Synthesizes a layout for every tensor and selects an instruction for every operation of a tile program.
//!
//! The stages follow the paper (Hexcute, CGO 2026, sections IV and V). [`solve`](mod@solve) runs them:
//!
//! 1. [`checks`] reject a program that no layouts can serve. Copies whose tile the registers do not hold move in rounds
//!    ([`solve::rounds`]). Operands of products in shared memory get loads, or stay where an
//!    instruction can read them by descriptor ([`solve::loads`]); the cheapest of these routes wins.
//! 2. [`constraints`]: operations become constraints. Register tensors that constraints tie together form components.
//! 3. [`search`] anchors each component at its gemms or at the copies that move most ([`anchor`]); a work-list derives the
//!    remaining layouts ([`distribution`]) from the constraints. [`cost`] bounds and compares the branches.
//! 4. [`movement`] decides how values reach other threads.
//! 5. [`shared`]: accesses to shared memory ([`access`]) become layout constraints, which are unified, filled and swizzled;
//!    descriptors and the boxes of bulk copies join this unification with swizzles that the hardware names.
//! 6. [`choices`] names the instruction of every operation, and divides registers among roles.
//! 7. [`estimate`](mod@estimate) predicts the cycles of the solved program, [`conflict`] explains a program without layouts, and
//!    [`why_not`] an alternative that the solution does not take: its rules, and a run that must take it ([`Wish`]).
//!
//! Invariant: the crate sees a tile program and rows of the catalogue, and knows no instruction by name. It knows no
//! text, no query and no thread program.
//!
//! Start at [`solve`].

mod access;
mod anchor;
mod checks;
mod choices;
mod conflict;
mod constraints;
mod cost;
mod distribution;
mod edits;
mod estimate;
mod failure;
mod movement;
mod orders;
mod search;
mod shared;
mod solve;
#[cfg(test)]
mod tests;
mod why_not;

pub use anchor::tilings::unfit_matrix_instructions;
pub use checks::convertible::is_convertible;
pub use checks::size::{SPARE_REGISTERS, fits_registers, registers_of_a_thread};
pub use choices::roles::role_registers;
pub use conflict::{Claim, Conflict, Repair, explain, restricted, staged_loads, with_warps};
pub use constraints::component::UNKNOWN_TRIPS;
pub use edits::Chunks;
pub use estimate::{
    Bottleneck, Forecast, Known, Read, compared, estimate, estimate_any, forecast, resident_blocks,
    wave_cycles,
};
pub use failure::{Failure, FailureKind, Help, Part, first_later};
pub use orders::{PackedOrder, packed_orders};
pub use search::wish::Wish;
pub use solve::loads::loaded;
pub use solve::second::{Second, second_buffer};
pub use solve::solved::{Solved, rearranged};
pub use solve::solver::CANDIDATES;
pub use solve::staged::stored_tensor;
pub use solve::{candidates, demands, solve, solve_wishing};
pub use why_not::product::{Axis, Rule, Side, nearest, rules_against};
pub use why_not::width::widest_access;

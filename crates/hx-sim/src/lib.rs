//! Runs a thread program on the CPU: every thread of every block, with checkers and counters.
//!
//! The threads of a block advance in lockstep, statement by statement; blocks run in parallel and see the memory as it was at the
//! launch, plus what they wrote themselves. Results, reports and errors do not depend on how many cores there are.
//!
//! Numbers: a product of fragments by several lanes forms exact products in `f64`, adds them to the accumulator in `f64` in the order
//! of k, and rounds once per instruction to the accumulator's type. A product within one lane is a fused multiply-add in the
//! accumulator's type. Conversions round to nearest even.
//!
//! The crate knows no instruction by name, only rows of the catalogue, and nothing of CUDA text or incremental queries.
//! Start at [`run`].

mod arith;
mod banks;
mod block;
mod code;
mod compile;
mod error;
mod formula;
mod global;
mod launch;
mod report;
mod shared;
#[cfg(test)]
mod tests;
mod transfer;

pub use error::{Access, Fault, Place, SimError};
pub use launch::{Argument, Config, run};
pub use report::{Counters, Report};

//! Runs a thread program on the CPU: every thread of every block, with checkers and counters.
//!
//! The threads of a block advance in lockstep, statement by statement; blocks run in parallel and see the memory as it was at the
//! launch, plus what they wrote themselves. Results, reports and errors do not depend on how many cores there are.
//!
//! Numbers: a product of fragments by several lanes forms exact products in `f64`, adds them to the accumulator in `f64` in the order
//! of k, and rounds once per instruction to the accumulator's type. A product within one lane is a fused multiply-add in the
//! accumulator's type. Conversions round to nearest even. Elementwise operators mean what [`hx_dtype::Operator::eval`] says; a
//! conversion to an integer truncates toward zero and saturates, NaN becoming 0.
//!
//! Reading a register that was never written is an error, in a choice of a select only for threads that select it. An asynchronous
//! copy reads its source when it is issued and lands at the wait that covers its group; until then touching its destination or
//! changing its source is an error, and after it other threads need a barrier. Copies that nobody waited for are counted
//! ([`Counters::unwaited`]). A `while` that changes nothing, or runs more often than [`Config::while_limit`], ends the run.
//!
//! What a kernel prints and which assertions failed is in the log of [`run_with_log`], also when the run ends with an error.
//!
//! The crate knows no instruction by name, only rows of the catalogue, and nothing of CUDA text or incremental queries.
//! Start at [`run`].

mod arith;
mod banks;
mod block;
mod cast;
mod code;
mod compile;
mod compute;
mod error;
mod flight;
mod formula;
mod global;
mod history;
mod launch;
mod log;
mod marks;
mod operators;
mod overlay;
mod report;
mod shared;
mod table;
#[cfg(test)]
mod tests;
mod transfer;

pub use error::{Access, Copying, Deed, Fault, Place, SimError};
pub use launch::{Argument, Config, run, run_with_log};
pub use report::{Counters, Report};

//! Runs a thread program on the CPU: every thread of every block, with checkers and counters.
//!
//! The threads of a block advance in step, statement by statement, as one agent with a stack of its own; in the roles at the
//! end of a program each group is an agent, and [`Config::seed`] determines their order. Agents that all wait for others are an
//! error. Blocks run in parallel. A block sees its own writes, and none of the blocks that run at the same time. Blocks whose
//! atomic accesses tell them what others did take turns in one memory, in an order that the seed selects, too. Results, reports
//! and errors do not depend on the number of cores.
//!
//! Numbers: a product of fragments by several lanes forms exact products in `f64`, adds them to the accumulator in `f64`
//! in the order of k, and rounds once per instruction to the accumulator's type. A product within one lane is a fused
//! multiply-add in the accumulator's type. Conversions round to nearest even. Elementwise operators are defined by
//! [`hx_dtype::Operator::eval`]; a conversion to an integer truncates toward zero and saturates, NaN becoming 0.
//!
//! Reading a register that was never written is an error. In a branch of a select, it is an error only for threads that
//! select the branch. An asynchronous copy reads its source when it is issued and completes at the wait that covers its
//! group. Before the wait, touching its destination or changing its source is an error; after the wait, other threads
//! still need a barrier. Copies that no wait covers are counted ([`Counters::unwaited`]). A `while` whose iterations
//! change nothing waits for a change of the memory that it reads; if nobody will change it, or the loop exceeds
//! [`Config::while_limit`], the run ends.
//!
//! The log of [`run_with_log`] holds what the kernel prints and which assertions fail, also if the run ends with an
//! error.
//!
//! Invariant: the crate knows rows of the catalogue and no instruction by name. It knows no CUDA text, no query and no
//! solver.
//!
//! Start at [`run`]. A [`Playback`] is the run of one block that moves forwards and backwards.

mod banks;
mod between;
mod block;
mod cast;
mod cluster;
mod code;
mod compile;
mod config;
mod counter;
mod deadlock;
mod error;
mod formula;
mod global;
mod grid;
mod history;
mod launch;
mod log;
mod operators;
mod order;
mod overlay;
mod playback;
mod ran;
mod report;
mod schedule;
mod stamp;
mod step;
mod stored;
#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;
mod trace;
mod turn;
mod versions;
mod witness;
mod world;

pub use block::phases::Stage;
pub use block::shared::Arrival;
pub use config::Config;
pub use error::{Access, AccessMode, Blocked, Copying, Fault, LeftOut, Place, Room, SimError};
pub use global::coordinate;
pub use launch::{Argument, depends_on_seed, run, run_with_log};
pub use playback::{AgentId, AgentState, Playback, Prepared, Registers, prepare};
pub use report::{Counters, OldLoad, Report, Written, byte_count};
pub use trace::{Access as MemoryAccess, Kind as AccessKind, Memory};
pub use witness::{Change, Follow, Reached, RegisterValue, Witness, Wrote};

//! The thread program: what every thread of a block does, instruction by instruction, with registers and addresses spelled out.
//!
//! It is the pivot of the compiler: the simulator and the CUDA emitter are two readings of it. Control flow is uniform over the
//! block; a collective instruction is executed by all its lanes. Names of instructions are rows of the catalogue of `hx-target`.
//! The crate knows nothing of incremental queries, CUDA text or devices. Start at [`ThreadProgram`]; [`lower`] makes one.

mod clock;
mod log;
mod lower;
mod program;
mod text;

pub use clock::{Clock, warp_of};
pub use log::{
    FAILURE_SHIFTS, Failed, LAST_RUN, LOG_BLOCKS, LOG_DROPPED, LOG_WORD, LogContents, LogEntry, LogKind,
    LogPlan, LogValue, Printed, areas_word, assertion_word, failure_key, record_bytes,
};
pub use lower::{LowerError, lower};
pub use program::{
    Address, AsyncCopy, Body, Compute, Convert, Exchange, Fill, Group, Lane, Log, Memory, Multiply, Param,
    Put, RegId, RegisterArray, Registers, SharedBuffer, Stmt, TensorParam, ThreadProgram, Transfer,
};
pub use text::emit_thread;

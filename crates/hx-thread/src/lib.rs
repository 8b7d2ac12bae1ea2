//! The thread program: the code of every thread of a block, instruction by instruction, with registers and addresses
//! spelled out.
//!
//! It is the pivot of the compiler: the simulator and the CUDA emitter both read it. Control flow is uniform over the
//! block. All lanes execute a collective instruction. Names of instructions are rows of the catalogue of `hx-target`.
//!
//! Invariant: the crate knows no source text, no query, no CUDA text and no device.
//!
//! Start at [`ThreadProgram`]; [`lower`] makes one.

mod clock;
mod effects;
mod log;
mod lower;
mod marks;
mod program;
mod text;
mod walk;

pub use clock::{Clock, Epoch, Known, Warps};
pub use effects::Touch;
pub use log::{
    FAILURE_SHIFTS, Failed, LAST_RUN, LOG_BLOCKS, LOG_DROPPED, LOG_WORD, LogContents, LogEntry, LogKind,
    LogPlan, LogValue, Printed, areas_word, assertion_word, failure_key, record_bytes,
};
pub use lower::{LowerError, lower};
pub use marks::{Mark, Pair};
pub use program::{
    Address, AsyncCopy, Body, Compute, Convert, Exchange, Fill, Group, Lane, Log, Memory, Multiply, Param,
    Put, RegId, RegisterArray, Registers, SharedBuffer, Stmt, TensorParam, ThreadProgram, Transfer,
};
pub use text::emit_thread;
pub use walk::{assigned, visit};

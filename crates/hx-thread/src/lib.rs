//! The thread program: the code of every thread of a block, instruction by instruction, with registers and addresses
//! spelled out.
//!
//! It is the pivot of the compiler: the simulator and the CUDA emitter both read it. Control flow is uniform over the block,
//! and in a role over each group of threads. All lanes execute a collective instruction. Names of instructions are rows of
//! the catalogue of `hx-target`.
//!
//! Invariant: the crate knows no source text, no query, no CUDA text and no device.
//!
//! Start at [`ThreadProgram`]; [`lower`] makes one.

mod address;
mod bulk;
mod clock;
mod counter;
mod description;
mod instruction;
mod log;
mod lower;
mod marks;
mod phase;
mod program;
mod reached;
mod stmt;
mod text;
mod walk;

pub use address::{Address, Memory};
pub use bulk::{Bulk, BulkStore, Fetched, Part, Prefetch, TensorMap};
pub use clock::{AccessOrder, Clock, Epoch, Knowledge, Warps};
pub use counter::{Counter, Draw};
pub use description::{Description, Local, Touch};
pub use instruction::{
    Arrivals, AsyncCopy, AtomicUse, Compute, Convert, Descriptor, Exchange, Fence, Fill, Lane, Multiply,
    MultiplyAsync, Put, RegId, Registers, SendChunk, Source, Transfer, Waiters,
};
pub use log::{
    FAILURE_SHIFTS, Failed, LAST_RUN, LOG_BLOCKS, LOG_DROPPED, LOG_WORD, LogContents, LogEntry, LogKind,
    LogPlan, LogValue, Printed, areas_word, assertion_word, failure_key, log_slice, log_slices, record_bytes,
    sides_word,
};
pub use lower::{LowerError, lower};
pub use marks::{Mark, Pair};
pub use phase::Phase;
pub use program::{Barrier, BarrierKind, Param, RegisterArray, SharedBuffer, TensorParam, ThreadProgram};
pub use reached::Runs;
pub use stmt::{Body, Control, Drawn, Group, Lanes, Leaf, Log, Role, Stmt};
pub use text::emit_thread;
pub use walk::{assigned, counted, visit, visit_leaves};

//! The tile program of one kernel instance, and the solution of its layouts: plain data, with a text form of each.
//!
//! A tile program lists the moves and computations of a kernel, tile by tile. The extents of tiles are known, the
//! dimensions of parameters are symbolic. A solution assigns each register tensor a thread-value layout, each shared
//! tensor a memory layout and each operation an instruction, with reasons.
//!
//! Invariant: programs and solutions are plain data that name origins by number. The crate knows no syntax, no query and no
//! solver, and of the catalogue only the table of asynchronous instructions.
//!
//! Start at [`TileProgram`], then [`Solution`].

mod atomic;
mod block;
mod constant;
mod cost;
mod counter;
mod description;
mod elementwise;
mod ends;
mod estimate;
mod exchange;
mod ids;
pub mod in_place;
mod inline;
mod liveness;
mod modes;
mod named_barrier;
mod operand;
mod order;
mod passage;
mod pipe;
mod products;
mod program;
mod rest;
mod rounding;
mod scope;
mod solution;
mod sums;
mod sync_op;
mod text;
mod variables;
mod view;

pub use atomic::{Atomic, MemoryOrder, MemoryScope};
pub use constant::Constant;
pub use cost::{Cost, Resource, ResourceCycles};
pub use counter::{COUNTER_BYTES, Counter, CounterId, Rounds, TICKET_BYTES, TICKETS};
pub use description::{Access, Description, Holds, Region};
pub use elementwise::{Inlined, Map, Scalar};
pub use ends::bytes_text;
pub use estimate::{
    Bound, Estimate, Launch, LoopEstimate, OpCycles, RoleEstimate, bound_text, estimate_text, loop_lines,
    resources_text, role_text, threads_text,
};
pub use exchange::Exchange;
pub use hx_target::{Completion, Mode, Proxy};
pub use ids::{NamedBarrierId, OpId, Origin, ParamId, PipeId, TensorId, TurnsId};
pub use inline::Inline;
pub use liveness::{LiveAcross, LiveRanges, LiveTensors, registers_of};
pub use modes::{TileMode, coordinate, index, modes_layout, tile_modes};
pub use named_barrier::NamedBarrier;
pub use operand::{LoadIds, Operand};
pub use order::Order;
pub use passage::Passage;
pub use pipe::{BARRIER_BYTES, Pipe, stages_held};
pub use products::{Products, Queue, Touched};
pub use program::{
    Control, GridAxis, InstructionPin, Leaf, Op, OpKind, Param, Requirement, Role, RoleKind, Stmt, Tensor,
    TensorKind, TensorParam, TileProgram, Turns,
};
pub use rest::Rest;
pub use rounding::{Rounding, coarse};
pub use scope::{Scope, ScopeId, ScopeKind, barriers_of};
pub use solution::{
    Across, BulkChoice, Choice, Conflicts, ConvertChoice, CopyChoice, Demand, Distribution, GemmChoice,
    Lanes, MapChoice, OperandChoice, PrefetchChoice, RearrangeChoice, Reason, ReduceChoice, Route,
    ScanChoice, ScanLevel, Scratch, SharedLayout, SliceChoice, Solution, Stream,
};
pub use sums::{SUM_CHUNK, Sums};
pub use sync_op::SyncOp;
pub use text::{
    choice_text, emit_layouts, emit_tile, instruction_text, layout_text, op_text, reason_text, summary_text,
    unexplored_text,
};
pub use view::{Base, Pick, Picked, Rows, View, ViewMode};

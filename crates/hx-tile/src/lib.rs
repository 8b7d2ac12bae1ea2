//! The tile program of one kernel instance, and the solution of its layouts: plain data, with a text form of each.
//!
//! A tile program says what moves and what is computed, tile by tile, with every shape known and every dimension symbolic.
//! A solution gives each register tensor its thread-value layout, each shared tensor its memory layout, and each operation its
//! instruction, with reasons. The crate knows nothing of syntax, of incremental queries or of how a solution is found.
//! Start at [`TileProgram`], then [`Solution`].

mod block;
mod edits;
mod elementwise;
mod held;
mod modes;
mod program;
mod solution;
mod text;
mod view;

pub use edits::{Edits, Move};
pub use elementwise::{Map, Scalar};
pub use held::{Held, registers_of};
pub use modes::{TileMode, coordinate, index, modes_layout, tile_modes};
pub use program::{
    GridAxis, Op, OpId, OpKind, Origin, Param, ParamId, Requirement, Stmt, Tensor, TensorId, TensorKind,
    TensorParam, TileProgram,
};
pub use solution::{
    Across, Choice, Conflicts, ConvertChoice, CopyChoice, Demand, Distribution, GemmChoice, Lanes, MapChoice,
    RearrangeChoice, Reason, ReduceChoice, Route, ScanChoice, ScanLevel, Scratch, SharedLayout, SliceChoice,
    Solution,
};
pub use text::{
    choice_text, emit_layouts, emit_tile, layout_text, op_text, reason_text, summary_text, unexplored_text,
};
pub use view::{Base, Rows, View, ViewMode};

//! Answers about files and instances, without running a kernel: their errors, the texts of their stages, their layouts with
//! reasons, their code, and the account of a launch that has run.
//!
//! Most answers are queries of `hx-compile`, put together for commands. Assembly and machine code come from the CUDA compiler,
//! which [`Setup`] finds, in a worker process.
//!
//! Invariant: the crate launches nothing, parses no flags and writes to no stream.
//!
//! Start at [`check`], [`emit()`] and [`Solved`].

mod absence;
mod check;
mod costs;
mod emit;
mod front;
mod in_place;
mod refused;
mod report;
mod settings;
mod setup;
mod spills;
mod stopped;
mod timings;
mod why;

pub use absence::absence_error;
pub use check::{check, check_all, check_chosen};
pub use costs::{ChosenCosts, CostsSource, DeviceCosts, costs_file};
pub use emit::{
    COMPILE_LIMIT, EmitError, EmitKind, Emitted, Overrides, compile, emit, emit_instance, instance, kernels,
    parse_override, stopped,
};
pub use front::{foreign_errors, front_diagnostics};
pub use in_place::{in_place, pairs_in_place};
pub use refused::refused_ptx;
pub use report::{Advice, FormatReport, KernelReport, Moves, Note, Part, Ran, Row, Spot};
pub use settings::setup;
pub use setup::{Choosing, DeviceChoice, Setup, UnknownDevice};
pub use spills::{known_spills, spilled_in};
pub use stopped::stopped_at;
pub use timings::{KernelTimes, timings};
pub use why::Solved;

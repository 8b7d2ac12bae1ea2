//! The queries from a kernel to CUDA text, and the diagnostics of its layouts, synchronization and resources.
//!
//! An [`Instance`] is a kernel with its compile-time arguments, a target and the facts about the launch. Each stage is
//! one query that reads the stage before it, so that an edit runs only the queries that it reaches.
//!
//! Invariant: the result of a stage holds no position in a text, and the crate knows no terminal, no protocol and no
//! device. Only diagnostics and line marks read positions.
//!
//! Start at [`Instance`], [`tile_program`] and [`check_file`].

mod assists;
mod check;
mod crowded;
mod db;
mod diagnostics;
mod emit;
mod estimate;
mod forms;
mod instance;
mod lines;
mod members;
mod needs;
mod orders;
mod padding;
mod reorder;
mod resources;
mod stages;
mod statements;
mod stop;
mod sync;
#[cfg(test)]
mod test_db;
#[cfg(test)]
mod tests;
mod together;
pub mod tune;
mod unsolved;
mod why_not;
mod widths;

pub use assists::{Assist, AssistConfig, Staging, assists, staging};
pub use check::{check_file, check_front, compile_kernels, kernel_diagnostics, sound_kernels};
pub use db::Db;
pub use diagnostics::{
    instance_diagnostics, instance_errors, is_accepted, launch_warnings, performance_notes,
};
pub use emit::{Emit, built_constraints, emit};
pub use estimate::{estimate, estimate_as_text, estimate_of_launch, forecast_of_launch, launch_cycles};
pub use hx_codegen::CudaSource;
pub use hx_lower::{CtArgs, CtValue, LaunchFacts, Lowered, WrittenArg, usual_units};
pub use hx_sync::{Findings, Hazard, Mend, Remedy, Run, Touch, Unwaited};
pub use hx_synth::{CANDIDATES, Chunks, Forecast, Known, Solved, compared, estimate as estimated};
use instance::Form;
pub use instance::{Instance, default_instance};
pub use members::{check_same_orders, member_args, shared_orders};
pub use needs::{Need, NeededAt};
pub use orders::{InferredOrder, TriedOrder, orders_left_open, orders_of};
pub use padding::{TookPart, took_part};
pub use resources::{Registers, Resources, estimated_registers, resources};
use stages::program_of_form;
pub use stages::{
    candidates, cuda_source, demands, routed_program, solved, thread_program, tile_program, violations,
};
pub use stop::Stop;
pub use sync::{hazards, protocol_verdict, store_faults, synchronization, unwritten_registers};
pub use together::together;
pub use unsolved::{OtherValue, conflict, other_values};
pub use why_not::{product_alternative, product_rules, why_not};

//! Checking, running and testing as functions over a database and a machine.
//!
//! The driver connects the compiler's queries, the host evaluator and the devices. It binds a launch's arguments to a
//! kernel's parameters, chooses the instance, and runs it on the simulator or on a GPU through the worker process.
//!
//! Invariant: the crate parses no flags and writes to no stream: results are plain data. It runs and compiles instances
//! without errors only.
//!
//! Start at [`Machine`], which is the place where kernels run, then read [`run_main`] and [`test`].

#![allow(
    clippy::disallowed_methods,
    reason = "histories of measurements and tuning, and the report about the machine"
)]

mod absence;
mod bench;
mod blame;
mod bounded;
mod build;
mod calibrate;
mod check;
mod doctor;
mod emit;
mod fnv;
mod history;
mod launch;
mod machine;
mod report;
mod run;
mod settings;
mod spills;
mod step;
mod stopped;
mod test;
#[cfg(test)]
mod tests;
mod timings;
mod told;
pub mod tune;
mod tuned;
mod why;

pub use absence::absence_error;
pub use bench::record::{
    AgainstRecord, BenchFile, BenchRecord, Change, GroupRecord, MissingRecord, Roofs,
    Verdict as ChangeVerdict, WorkRecord, changes,
};
pub use bench::{BenchOptions, BenchReport, list_benches, run_benches};
pub use bounded::{Each, ended_in};
pub use build::{BuildKind, BuildRequest, Built, BuiltLauncher, build, build_launcher, parse_facts};
pub use calibrate::{Calibration, calibrate, compile_probes};
pub use check::{check, check_all};
pub use doctor::{Finding, State, doctor};
pub use emit::{EmitError, EmitKind, Emitted, Overrides, emit, found as stopped, instance, parse_override};
pub use history::History;
pub use launch::{DirectLaunch, DirectParam, Launcher, Levels, Region, Timing, Tuned, may_share};
pub use machine::{
    Cuda, DeviceChoice, Gpu, Machine, MachineError, OnDemand, Setup, Texts, UnknownDevice, is_environmental,
    machine_of, open_compiler, open_machine, open_machines,
};
pub use report::{KernelReport, Moves, Part, ReportForm, Row, Spot};
pub use run::{Launches, RunOutcome, foreign_errors, front_diagnostics, run_main};
pub use settings::setup;
pub use step::{
    Cell, Goal, Named, Place, StepCase, StepError, StepFrame, StepRequest, StepSpot, Stepper, Tile, step,
};
pub use test::{
    Case, CaseReport, DRAWN_CASES, DocMode, DocTest, Drawn, Filter, Listing, Observer, Property, TestOptions,
    Verdict, case_place, list_tests, run_tests, run_tests_on,
};
pub use timings::{KernelTimes, timings};
pub use told::Told;
pub use tune::host_value;
pub use tuned::{check_tuned, tuned_for_shape};
pub use why::Solved;

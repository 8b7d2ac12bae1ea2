//! Checking, running and testing as functions over a database and a machine.
//!
//! The driver ties the compiler's queries, the host evaluator and the devices together: it binds a launch's arguments to a
//! kernel's parameters, picks the instance, and runs it on the simulator or on a GPU through the worker process. It reads no
//! flags and draws nothing; results are plain data.
//!
//! Start at [`Machine`] for where kernels run, then [`run_main`] and [`test`].

mod bench;
mod build;
mod check;
mod doctor;
mod emit;
mod history;
mod launch;
mod machine;
mod run;
mod settings;
mod test;
#[cfg(test)]
mod tests;
mod timings;
mod told;
mod why;

pub use bench::record::{
    AgainstRecord, BenchFile, BenchRecord, Change, GroupRecord, MissingRecord, Roofs,
    Verdict as ChangeVerdict, WorkRecord, changes,
};
pub use bench::{BenchOptions, BenchReport, list_benches, run_benches};
pub use build::{BuildKind, BuildRequest, Built, build, parse_facts};
pub use check::{check, check_all};
pub use doctor::{Finding, State, doctor};
pub use emit::{EmitError, EmitKind, Emitted, Overrides, emit, parse_override};
pub use history::History;
pub use launch::{Launcher, Timing, absence_error};
pub use machine::{
    Cuda, DeviceChoice, Gpu, Machine, MachineError, OnDemand, Setup, UnknownDevice, is_environmental,
    open_compiler, open_machine,
};
pub use run::{RunOutcome, foreign_errors, front_diagnostics, run_main};
pub use settings::setup;
pub use test::{Case, CaseReport, Filter, Listing, TestOptions, Verdict, case_place, list_tests, run_tests};
pub use timings::{KernelTimes, timings};
pub use told::Told;
pub use why::Solved;

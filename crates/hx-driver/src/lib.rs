//! The runners of commands, as functions over a database and a machine: running, testing, timing, tuning, stepping and building.
//!
//! A runner evaluates host code (`hx-host`) whose device is a launcher (`hx-launch`), and collects what happened.
//!
//! Invariant: the crate parses no flags and writes to no stream: results are plain data. Only instances without errors run.
//!
//! Start at [`run_main`] and [`run_tests`].

#![allow(clippy::disallowed_methods, reason = "histories of measurements and tuning")]

mod bench;
mod blame;
mod bounded;
mod build;
mod calibrate;
mod choice;
mod history;
mod reported;
mod run;
mod step;
mod test;
#[cfg(test)]
mod tests;
pub mod tune;
mod tuned;

pub use bench::record::{
    AgainstRecord, BenchFile, BenchRecord, Change, GroupRecord, MemoryRecord, MissingRecord, PeakRecord,
    Roofs, Verdict as ChangeVerdict, WorkRecord, changes,
};
pub use bench::{BenchOptions, BenchReport, BenchStage, list_benches, run_benches};
pub use bounded::{WorkLimit, ended_in};
pub use build::{
    BuildKind, BuildRequest, Built, BuiltLauncher, Fact, Shaped, Shapes, build, build_family, build_launcher,
    kernel_for_shape, parse_facts,
};
pub use calibrate::{Calibration, calibrate, compile_probes};
pub use choice::{CallChoice, LaunchChoice, choice_at, choice_for};
pub use history::History;
pub use reported::ReportedErrors;
pub use run::{Launches, RunOutcome, run_main};
pub use step::{
    Cell, Goal, Named, Place, StepCase, StepError, StepFrame, StepRequest, StepSpot, Stepper, Tile, step,
};
pub use test::{
    Case, CaseReport, DRAWN_CASES, DocMode, DocTest, Drawn, Filter, Listing, Observer, Property, TestOptions,
    Verdict, case_place, list_tests, run_tests, run_tests_on,
};
pub use tuned::check_tuned;

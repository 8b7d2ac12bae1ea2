//! Launches: the machines that run kernels, and the way of a launch from its arguments to its results.
//!
//! A [`Machine`] is the simulator, or a GPU that the worker process uses. A [`Launcher`] binds a launch's arguments to the
//! parameters of a kernel, chooses the instance, and runs, times, records or only compiles it there.
//!
//! Invariant: only instances without errors are run or compiled. The crate evaluates no host code: it is the device of an
//! evaluation.
//!
//! Start at [`Machine`], then read [`Launcher`].

mod doctor;
mod launch;
mod machine;
mod reporting;

pub use doctor::{Finding, State, doctor};
pub use launch::{
    Choice, ChosenInstance, Considered, DATA_TEXT, DirectLaunch, DirectParam, Fit, Found, Given,
    InstanceText, Launch, LaunchForm, Launcher, Levels, Old, Plans, PreparedLaunch, Racetrack, Read, Recipe,
    Recorded, Region, Seen, Source, Stepping, Timing, Tuned, Values, bound, clear_choices, fits, float_bytes,
    grid_label, host_value, integers, may_share, number_bytes, shown_member, stored_tensor, text_hash,
    values,
};
pub use machine::{
    Cuda, Gpu, Machine, MachineError, OnDemand, Texts, is_environmental, machine_of, open_compiler,
    open_machine, open_machines,
};
pub use reporting::Reporting;

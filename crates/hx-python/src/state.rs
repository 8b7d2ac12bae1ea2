//! The state of a kernel, which lasts from one call to the next. All objects of one kernel with the same fixed arguments share it.

use std::sync::Arc;

use hx_launch::Plans;

use crate::plan::{Plan, Ready};

/// Facts about the current text of a kernel, and the launches that were prepared from it.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The generation of the texts when they were last compared. 0 is out of date.
    pub(crate) generation: u64,
    /// Everything that the plans depend on besides their calls.
    pub(crate) identity: Identity,
    /// The names of the run-time parameters.
    pub(crate) params: Arc<[String]>,
    /// For each run-time parameter, whether the kernel writes it.
    pub(crate) mutable: Arc<[bool]>,
    pub(crate) plans: Plans<Plan, Ready>,
    /// Whether a warning has said that the kernel runs on the simulator.
    pub(crate) is_warned: bool,
}

/// The texts from which plans were made. Plans of other texts are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Identity {
    /// A hash of the items of the kernel's file and of everything that they use.
    pub(crate) text: u64,
    /// The version of the results of tuning.
    pub(crate) tuned: u64,
}

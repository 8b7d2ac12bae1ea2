//! The reasons why an instance does not get past a stage.

use hx_lower::LowerError;
use hx_synth::Failure;
use hx_tile::OpId;

use crate::needs::Need;

/// The reason why an instance does not get past a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The kernel has errors, or something that it uses has errors: [`hx_hir::reached_errors()`].
    Unsound,
    /// The kernel has no tile program. There is at least one reason.
    Program(Vec<LowerError>),
    /// The architecture lacks abilities that the kernel needs. There is at least one.
    Target(Vec<Need>),
    /// No layouts or no instructions exist for the kernel.
    Layouts(Failure),
    /// The compiler broke one of its own rules.
    Internal {
        /// The stage of the compiler.
        stage: &'static str,
        /// The operation at which it happened, if it was at one.
        op: Option<OpId>,
        /// The message of the stage.
        message: String,
    },
}

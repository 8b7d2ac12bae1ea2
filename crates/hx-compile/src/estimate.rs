//! The estimated cycles of an instance: those of its roles, of its loops along pipelines, and of the resources they share.

use hx_tile::{Estimate, estimate_text};

use crate::{Db, Instance, routed_program, solution};

/// Returns the estimate of an instance with pipelines; `None` if it has none, or no layouts. Nothing is assumed of the dimensions.
pub fn estimate<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<Estimate> {
    let lowered = routed_program(db, instance).as_ref().ok()?;
    let solution = solution(db, instance).as_ref().ok()?;
    hx_synth::estimate(&solution.program(&lowered.program), solution, instance.arch(db), &[])
}

/// Returns [`estimate`] as text.
pub fn estimate_as_text<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<String> {
    let lowered = routed_program(db, instance).as_ref().ok()?;
    let solution = solution(db, instance).as_ref().ok()?;
    Some(estimate_text(&solution.program(&lowered.program), &estimate(db, instance)?))
}

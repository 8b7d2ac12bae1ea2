//! The estimated cycles of an instance: those of its roles, of its loops along pipelines, and of the resources they share.

use hx_index::Symbol;
use hx_synth::{Forecast, Known};
use hx_tile::{Estimate, estimate_text};

use crate::{Db, Instance, solved};

/// Returns the estimate of an instance with pipelines; `None` if it has none, or no layouts. Nothing is assumed of the dimensions.
pub fn estimate<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<Estimate> {
    let solved = solved(db, instance).as_ref().ok()?;
    hx_synth::estimate(&solved.program, &solved.solution, &[])
}

/// Returns the forecast of a launch of an instance; `None` if it has no layouts, or the number of blocks does not follow from what is
/// known of the launch.
pub fn forecast_of_launch<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    known: Known<'_>,
) -> Option<Forecast> {
    let solved = solved(db, instance).as_ref().ok()?;
    hx_synth::forecast(&solved.program, &solved.solution, known)
}

/// Returns the estimated cycles of a launch of an instance with these dimensions and strides; `None` as for [`forecast_of_launch`].
pub fn launch_cycles<'db>(db: &'db dyn Db, instance: Instance<'db>, dims: &[(String, i64)]) -> Option<f64> {
    let symbols = dims.iter().map(|(name, value)| (Symbol::Dim(name.as_str().into()), *value)).collect();
    Some(forecast_of_launch(db, instance, Known::symbols(&symbols))?.cycles)
}

/// Returns the estimate of a launch of an instance of any kind with these dimensions and strides; `None` if it has no layouts.
pub fn estimate_of_launch<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    dims: &[(String, i64)],
) -> Option<Estimate> {
    let solved = solved(db, instance).as_ref().ok()?;
    Some(hx_synth::estimate_any(&solved.program, &solved.solution, dims))
}

/// Returns [`estimate`] as text; `None` if there is no estimate.
pub fn estimate_as_text<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<String> {
    let solved = solved(db, instance).as_ref().ok()?;
    Some(estimate_text(&solved.program, &estimate(db, instance)?))
}

//! The tensor maps of a launch: their numbers, and the limits that the numbers must keep.

use hx_base::codes;
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_index::Symbol;
use hx_target::MapLimits;
use hx_thread::ThreadProgram;

use super::Bound;
use super::internal;

/// Checks every tensor map of a program with the numbers of this launch.
pub(super) fn check(program: &ThreadProgram, bound: &Bound) -> Result<(), LaunchError> {
    program.maps.iter().try_for_each(|map| values(&program.target.rows().map, map, bound).map(drop))
}

/// Returns a map with its numbers in this launch.
fn values(
    limits: &MapLimits,
    map: &hx_thread::TensorMap,
    bound: &Bound,
) -> Result<hx_worker::TensorMap, LaunchError> {
    let lookup = |s: &Symbol| bound.symbols.get(s).copied();
    let values = map.evaluated(|e| e.eval(&lookup)).map_err(|e| internal(e.to_string()))?;
    limits.check(map, &values).map_err(|message| {
        let help = "pad the rows of the tensor, or copy it without bulk copies";
        LaunchError::call(HostError::new(&codes::BAD_TENSOR_MAP, message).help(help))
    })?;
    Ok(values)
}

/// Returns a map as the worker encodes it.
pub(super) fn argument(
    limits: &MapLimits,
    map: &hx_thread::TensorMap,
    bound: &Bound,
) -> Result<hx_worker::TensorMap, LaunchError> {
    let values = values(limits, map, bound)?;
    values.driver().map_err(internal)?;
    Ok(values)
}

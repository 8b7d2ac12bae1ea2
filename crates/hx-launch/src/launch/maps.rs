//! The tensor maps of a launch: their numbers, and the limits that the numbers must keep.

use hx_base::codes;
use hx_codegen::swizzle_bytes;
use hx_dtype::DType;
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_index::Symbol;
use hx_target::MapLimits;
use hx_thread::{MapValues, Outside, Param, TensorMap, ThreadProgram};
use hx_worker::MapElement;

use super::Bound;
use super::internal;

/// Checks every tensor map of a program with the numbers of this launch.
pub(super) fn check(program: &ThreadProgram, bound: &Bound) -> Result<(), LaunchError> {
    for map in &program.maps {
        if let Some(Param::Tensor(tensor)) = program.params.get(map.param as usize) {
            values(&program.target.rows().map, (&tensor.name, tensor.dtype), map, bound)?;
        }
    }
    Ok(())
}

/// Returns the numbers of a map of the tensor `name` in this launch.
fn values(
    limits: &MapLimits,
    (name, dtype): (&str, DType),
    map: &TensorMap,
    bound: &Bound,
) -> Result<MapValues, LaunchError> {
    let lookup = |s: &Symbol| bound.symbols.get(s).copied();
    let values = map.values(&lookup).map_err(|e| internal(e.to_string()))?;
    map.check(name, dtype, &values, limits).map_err(|message| {
        let help = "pad the rows of the tensor, or copy it without bulk copies";
        LaunchError::call(HostError::new(&codes::BAD_TENSOR_MAP, message).help(help))
    })?;
    Ok(values)
}

/// Returns a map as the worker encodes it. `arg` is the position of the argument that passes the tensor's pointer.
pub(super) fn argument(
    limits: &MapLimits,
    (name, dtype): (&str, DType),
    map: &TensorMap,
    bound: &Bound,
) -> Result<hx_worker::TensorMap, LaunchError> {
    let numbers = values(limits, (name, dtype), map, bound)?;
    let unsigned = |list: &[i64]| list.iter().map(|n| u64::try_from(*n).unwrap_or(0)).collect();
    let element = element(dtype);
    Ok(hx_worker::TensorMap {
        arg: map.param as usize,
        name: name.to_owned(),
        element: element.ok_or_else(|| internal(format!("bulk copies have no elements of type {dtype}")))?,
        dims: unsigned(&numbers.dims),
        strides: unsigned(&numbers.strides),
        extents: map.extents.clone(),
        swizzle: swizzle_bytes(map),
        l2: map.l2,
        nan: map.fill == Outside::Nan,
    })
}

/// Returns the element type of a map. Types that the driver does not know are moved as integers of their size.
fn element(dtype: DType) -> Option<MapElement> {
    Some(match dtype {
        DType::F16 => MapElement::F16,
        DType::Bf16 => MapElement::Bf16,
        DType::F32 | DType::Tf32 => MapElement::F32,
        DType::F64 => MapElement::F64,
        DType::I32 => MapElement::I32,
        DType::I64 => MapElement::I64,
        other => match other.bits() {
            8 => MapElement::U8,
            16 => MapElement::U16,
            32 => MapElement::U32,
            64 => MapElement::U64,
            _ => return None,
        },
    })
}

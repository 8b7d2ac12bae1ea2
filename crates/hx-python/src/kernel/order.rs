//! Packed arrays: the elements of an array in blocks, and the block that such an array carries into a launch.

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::{ItemKey, Name};
use hx_host::device::OrderQuestion;
use hx_host::pack::{pack, unpack};
use hx_host::{HostError, Tensor};
use hx_launch::host_value;
use hx_layout::Layout;
use hx_lower::WrittenArg;
use hx_workspace::Database;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{Argument, Reader, read};
use crate::errors::{Class, Problem};
use crate::torch::Torch;

/// Returns the block in which the elements of an argument lie, as it is written in hx; `None` for the order of its strides.
pub(super) fn of(
    object: &Bound<'_, PyAny>,
    argument: &Argument<'_>,
    torch: Option<&Torch>,
) -> PyResult<Option<String>> {
    // Numbers and PyTorch's tensors have none: most calls have no other arguments, and look up nothing.
    if argument.memory().is_none() || torch.is_some_and(|torch| torch.is_plain(object)) {
        return Ok(None);
    }
    match object.getattr_opt(intern!(object.py(), "__hx_order__"))? {
        Some(order) => order.extract(),
        None => Ok(None),
    }
}

/// Parses a block.
///
/// # Errors
/// If the text is no layout `shape : stride`.
pub(super) fn parsed(text: &str) -> Result<Layout, Problem> {
    text.parse::<Layout>().map_err(|reason| {
        Problem::new(Class::Launch, &codes::HOST_ERROR, format!("the order `{text}` is no layout: {reason}"))
    })
}

/// Makes the question which order a kernel infers for a tensor of this type. Of the fixed arguments only the element types make a difference.
///
/// # Errors
/// If a fixed argument has no value.
pub(super) fn question(
    db: &Database,
    kernel: ItemKey,
    fixed: &[(String, String)],
    (dtype, of): (DType, Option<&str>),
) -> Result<OrderQuestion, Problem> {
    let mut generics = Vec::new();
    for (name, text) in fixed.iter().filter(|(_, text)| DType::parse(text).is_some()) {
        let refuse =
            |reason: String| Problem::new(Class::Launch, &codes::HOST_ERROR, format!("`{name}`: {reason}"));
        let written: WrittenArg = text.parse().map_err(refuse)?;
        generics.push((Name::new(name), host_value(&written.resolve(db, kernel.file).map_err(refuse)?)));
    }
    Ok(OrderQuestion { kernel, generics, param: of.map(Name::new), dtype })
}

/// Returns the bytes of an array in host memory with its elements in blocks of this layout, or of a packed array in row-major order again.
#[pyfunction]
pub(crate) fn packed<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    order: &str,
    back: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let block = parsed(order).map_err(|problem| problem.raise(py))?;
    let argument = read(array, &Reader::of_array(Torch::loaded(py)?), &|| "the array".to_owned())?;
    let Argument::Host { memory, array } = &argument else {
        let text = "expected an array in host memory";
        return Err(Problem::new(Class::Launch, &codes::LAUNCH_MEMORY, text.to_owned()).raise(py));
    };
    let bytes: Vec<u8> = array.call_method0(intern!(py, "read"))?.extract()?;
    let sizes = |dims: &[i64]| dims.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
    let (shape, strides) = (sizes(memory.shape.as_slice()), sizes(memory.strides.as_slice()));
    let moved = || -> Result<Vec<u8>, HostError> {
        let tensor = Tensor::from_span(memory.dtype, shape, strides, bytes)?;
        let moved = if back { unpack(&tensor, &block)? } else { pack(&tensor, &block)? };
        Ok(moved.to_host().data)
    };
    let moved = moved().map_err(|error| Problem::new(Class::Launch, error.code, error.message).raise(py))?;
    Ok(PyBytes::new(py, &moved))
}

//! The algebra on values, for evaluators with a syntax of their own. Errors are text.

use super::{Fault, Value, functions};

/// Calls a function of the algebra by its name, as an expression would.
///
/// # Errors
/// If there is no such function, or it has no result for these arguments.
pub fn call(name: &str, args: &[Value]) -> Result<Value, String> {
    functions::call(name, args).map_err(text)
}

/// Computes `a ∘ b`.
///
/// # Errors
/// If the two do not compose.
pub fn compose(a: &Value, b: &Value) -> Result<Value, String> {
    functions::after(a, b).map_err(text)
}

/// Reports whether two values are equal. Layouts are compared as functions.
///
/// # Errors
/// If they are too large to compare.
pub fn equal(a: &Value, b: &Value) -> Result<bool, String> {
    functions::equal(a, b).map_err(text)
}

/// Applies a layout to a coordinate. Returns an index, or, if `_` occurs, the slice.
///
/// # Errors
/// If the coordinate does not fit.
pub fn apply(layout: &Value, coord: &[Value]) -> Result<Value, String> {
    functions::apply(layout, coord).map_err(text)
}

/// Makes `shape : stride`. Labels of the shape's entries become labels of the modes.
///
/// # Errors
/// If the two do not fit each other.
pub fn layout(shape: &Value, stride: &Value) -> Result<Value, String> {
    shape.with_stride(stride).map_err(text)
}

fn text(Fault(message): Fault) -> String {
    message
}

//! The algebra on values, for evaluators that have a syntax of their own. Errors are text.

use super::{Fault, Value, functions};

/// Calls a function of the algebra by its name, as an expression would.
///
/// # Errors
/// When there is no such function, or it has no result for these arguments.
pub fn call(name: &str, args: &[Value]) -> Result<Value, String> {
    functions::call(name, args).map_err(text)
}

/// `a ∘ b`.
///
/// # Errors
/// When these two do not compose.
pub fn compose(a: &Value, b: &Value) -> Result<Value, String> {
    functions::after(a, b).map_err(text)
}

/// Whether two values are the same; layouts as functions.
///
/// # Errors
/// When they are too large to compare.
pub fn equal(a: &Value, b: &Value) -> Result<bool, String> {
    functions::equal(a, b).map_err(text)
}

/// A layout at a coordinate: an index, or what a slice keeps where `_` occurs.
///
/// # Errors
/// When the coordinate does not fit.
pub fn apply(layout: &Value, coord: &[Value]) -> Result<Value, String> {
    functions::apply(layout, coord).map_err(text)
}

/// `shape : stride`; labels of the shape's entries become labels of the modes.
///
/// # Errors
/// When the two do not fit each other.
pub fn layout(shape: &Value, stride: &Value) -> Result<Value, String> {
    shape.with_stride(stride).map_err(text)
}

fn text(Fault(message): Fault) -> String {
    message
}

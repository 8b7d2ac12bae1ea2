//! Values as the prompt shows them.

use hx_host::Value;
use hx_host::show::show_tensor_at;

/// A value on one or several lines; strings with quotes, tensors with where they are.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Str(text) => format!("{text:?}"),
        Value::Tensor(tensor) => show_tensor_at(tensor, " on host"),
        other => other.to_string(),
    }
}

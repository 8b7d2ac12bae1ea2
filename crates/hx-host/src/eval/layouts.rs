//! Layout values, which the host passes to kernels as compile-time arguments.

use hx_layout::{IntTuple, Layout};

use crate::error::{HostError, HostResult};
use crate::value::Value;

/// `shape : stride`.
pub(super) fn layout(shape: &Value, stride: &Value) -> HostResult<Value> {
    let made = Layout::new(ints(shape)?, ints(stride)?);
    made.map(Value::Layout).map_err(|e| HostError::ty(e.to_string()))
}

fn ints(value: &Value) -> HostResult<IntTuple> {
    match value {
        Value::Int(i) => Ok(IntTuple::Int(*i)),
        Value::Tuple(values) => values.iter().map(ints).collect::<HostResult<_>>().map(IntTuple::Tuple),
        other => {
            Err(HostError::ty(format!("found {}, an integer or a tuple of integers is needed", other.kind())))
        }
    }
}

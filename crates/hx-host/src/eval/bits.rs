//! Functions of the bits of elements, which depend on the element type and not only on the value.

use hx_dtype::{DType, Operator};

use crate::Tensor;
use crate::bits::needs_integers;
use crate::dense::{Dense, Numbers, broadcast_shape, show_shape};
use crate::error::{HostError, HostResult};
use crate::reduce::axis_of;
use crate::stretch::{map, zip};
use crate::tensor::HostTensor;
use crate::value::Value;

/// Returns the integer type of a value; a number without a type has 64 bits.
///
/// # Errors
/// If it is no integer. `name` is the function in the message.
fn integers(name: &str, x: &Value) -> HostResult<DType> {
    match x {
        Value::Int(_) => Ok(DType::I64),
        Value::Tensor(t) if t.dtype().is_int() => Ok(t.dtype()),
        Value::Tensor(t) => Err(HostError::ty(format!("`{name}` needs integers, and found `{}`", t.dtype()))
            .help("`bitcast(x, u32)` gives the bits of an `f32`")),
        other => Err(HostError::ty(format!("`{name}` is not defined on {}", other.kind()))),
    }
}

/// Evaluates `popcount(x)` or `clz(x)`, the bits that are set or the leading zeros of each element.
///
/// # Errors
/// If `x` is no integer.
pub(super) fn count(operator: Operator, x: &Value) -> HostResult<Value> {
    let dtype = integers(operator.name(), x)?;
    let tensor = x.tensor()?;
    let counts = map(&tensor.bits(), |bits| operator.eval(dtype, &[bits]) as i64);
    Ok(Value::from_dense(Dense { shape: tensor.shape().to_vec(), data: Numbers::Int(counts) }))
}

/// Evaluates `mulhi(a, b)` on integers of one type. A number without a type takes that of the other operand.
///
/// # Errors
/// If the types differ, one is no integer, or the shapes do not broadcast.
pub(super) fn mulhi(a: &Value, b: &Value) -> HostResult<Value> {
    let name = Operator::Mulhi.name();
    let (x, y) = (integers(name, a)?, integers(name, b)?);
    let dtype = match (a, b) {
        (Value::Int(_), _) => y,
        (_, Value::Int(_)) => x,
        _ if x == y => x,
        _ => {
            let error = HostError::ty(format!("`{name}` needs one type, and found `{x}` and `{y}`"));
            return Err(error.help(format!("`cast(…, {x})` converts")));
        }
    };
    let (a, b) = (a.dense()?, b.dense()?);
    let Some(shape) = broadcast_shape(&a.shape, &b.shape) else {
        let (a, b) = (show_shape(&a.shape), show_shape(&b.shape));
        return Err(HostError::shape(format!("shapes {a} and {b} do not broadcast in `{name}`")));
    };
    let [a, b] = [&a, &b].map(|x| x.broadcast_to(&shape).into_ints().unwrap_or_default());
    let bits = |x: i64| x as u64 & dtype.mask();
    let upper = zip(&a, &b, |x, y| {
        let upper = Operator::Mulhi.eval(dtype, &[bits(x), bits(y)]);
        if dtype.is_signed_int() { dtype.sign_extend(upper) } else { upper as i64 }
    });
    Ok(Value::from_dense(Dense { shape, data: Numbers::Int(upper) }))
}

/// Evaluates `~x`, which flips every bit of each element; a number without a type has 64 bits.
///
/// # Errors
/// If it is a float, or as for [`Value::dense`].
pub(super) fn not(x: &Value) -> HostResult<Value> {
    let dense = x.dense()?;
    let unsigned = match x {
        Value::Tensor(t) if t.dtype().is_int() && !t.dtype().is_signed_int() => t.dtype().mask() as i64,
        _ => -1,
    };
    let data = match dense.data {
        Numbers::Bool(v) => Numbers::Bool(map(&v, |x: bool| !x)),
        Numbers::Int(v) => Numbers::Int(map(&v, |x: i64| !x & unsigned)),
        Numbers::Float(_) => return Err(needs_integers("~")),
    };
    Ok(Value::from_dense(Dense { shape: dense.shape, data }))
}

/// Evaluates `bitcast(x, T, axis: k)`: the bits of each element as an element of another type of the same width, or those of
/// neighbours along the axis as elements of another width, lowest bits first. The axis is the last one by default.
///
/// # Errors
/// If `x` is no tensor, a type is `bool`, or the elements along the axis are no whole ones of the other type.
pub(super) fn bitcast(x: &Value, dtype: DType, axis: Option<i64>) -> HostResult<Value> {
    let tensor = match x {
        Value::Tensor(t) => t.clone(),
        other => return Err(HostError::ty(format!("`bitcast` is not defined on {}", other.kind()))),
    };
    let from = tensor.dtype();
    if [from, dtype].contains(&DType::Bool) {
        let message = format!("`bitcast` from `{from}` to `{dtype}`: the bits of `bool` are 0 or 1");
        return Err(HostError::ty(message).help(format!("`cast(…, {dtype})` converts the values")));
    }
    let mut shape = tensor.shape().to_vec();
    let axis = axis.map(|axis| axis_of(axis, shape.len())).transpose()?;
    let cast = |shape: &[usize], bits: &[u64]| {
        Ok(Value::Tensor(Tensor::from_host(HostTensor::of_bits(dtype, shape, bits))))
    };
    if from.bits() == dtype.bits() {
        return cast(&shape, &tensor.bits());
    }
    let Some(axis) = axis.or(shape.len().checked_sub(1)) else {
        let message = format!("`bitcast` from `{from}` to `{dtype}` needs an axis, and the tensor has none");
        return Err(HostError::shape(message));
    };
    let inner: usize = shape[axis + 1..].iter().product();
    let bits = tensor.bits();
    if from.bits() > dtype.bits() {
        let parts = (from.bits() / dtype.bits()) as usize;
        shape[axis] *= parts;
        return cast(&shape, &cut(&bits, inner, parts, dtype));
    }
    let parts = (dtype.bits() / from.bits()) as usize;
    if shape[axis] % parts != 0 {
        let message = format!(
            "`bitcast` from `{from}` to `{dtype}` needs a multiple of {parts} elements along axis {axis}, and found {}",
            shape[axis]
        );
        return Err(HostError::shape(message).help("`axis:` names another axis"));
    }
    shape[axis] /= parts;
    cast(&shape, &join(&bits, inner, parts, from))
}

/// Cuts each element into `parts` of the type `dtype`, one row of `inner` elements for each.
fn cut(bits: &[u64], inner: usize, parts: usize, dtype: DType) -> Vec<u64> {
    let rows = bits.chunks(inner.max(1));
    let part = |i: usize| move |word: &u64| word >> (i as u32 * dtype.bits()) & dtype.mask();
    rows.flat_map(|row| (0..parts).flat_map(move |i| row.iter().map(part(i)))).collect()
}

/// Joins each `parts` rows of `inner` elements of the type `from`.
fn join(bits: &[u64], inner: usize, parts: usize, from: DType) -> Vec<u64> {
    let word = |rows: &[u64], j: usize| {
        (0..parts).fold(0, |word, i| word | rows[i * inner + j] << (i as u32 * from.bits()))
    };
    let groups = bits.chunks((inner * parts).max(1));
    groups.flat_map(|rows| (0..inner).map(move |j| word(rows, j))).collect()
}

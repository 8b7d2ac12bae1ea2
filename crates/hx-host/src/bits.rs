//! Operators on the bits of integers: `& | ^ << >>`.

use hx_dtype::{Class, DType, Operator};

use crate::dense::{Dense, Numbers};
use crate::error::{HostError, HostResult};
use crate::stretch::zip;

/// Returns the error of a bit operator that was applied to floats.
pub(crate) fn needs_integers(symbol: &str) -> HostError {
    let error = HostError::ty(format!("`{symbol}` needs integers or bools"));
    if symbol == "^" {
        return error.help("a power is written `pow(x, y)`; `bitcast(x, u32)` gives the bits of an `f32`");
    }
    error.help("`bitcast(x, u32)` gives the bits of an `f32`")
}

/// Applies `& | ^ << >>` to `i64` numbers, or `& | ^` to bools.
///
/// # Errors
/// If an operand is a float, a bool is shifted, or `<<` loses bits.
pub(crate) fn binary(op: Operator, shape: &[usize], a: &Dense, b: &Dense) -> HostResult<Numbers> {
    let (x, y) = (a.broadcast_to(shape), b.broadcast_to(shape));
    let shifts = matches!(op, Operator::Shl | Operator::Shr);
    if let (Numbers::Bool(x), Numbers::Bool(y)) = (&x, &y) {
        if shifts {
            return Err(HostError::ty(format!("`{}` needs integers", op.name())));
        }
        let eval = |x: bool, y: bool| op.eval(DType::Bool, &[u64::from(x), u64::from(y)]) != 0;
        return Ok(Numbers::Bool(zip(x, y, eval)));
    }
    if x.class().max(y.class()) == Class::Float {
        return Err(needs_integers(op.name()));
    }
    let (x, y) = (x.into_ints().unwrap_or_default(), y.into_ints().unwrap_or_default());
    let eval = |op: Operator, x: i64, y: i64| op.eval(DType::I64, &[x as u64, y as u64]) as i64;
    let results = zip(&x, &y, |x, y| eval(op, x, y));
    if op == Operator::Shl
        && let Some(at) = (0..results.len()).find(|at| eval(Operator::Shr, results[*at], y[*at]) != x[*at])
    {
        let error = HostError::arithmetic(format!("`{} << {}` overflows i64", x[at], y[at]));
        return Err(error.help("mask what is to be lost first: `(x & mask) << n`"));
    }
    Ok(Numbers::Int(results))
}

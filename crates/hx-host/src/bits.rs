//! Operators on the bits of integers: `& | ^ << >>`.

use hx_dtype::Operator;

use crate::dense::{Class, Dense, Numbers};
use crate::error::{HostError, HostResult};
use crate::stretch::zip;

/// The error of an operator on the bits of floats.
pub(crate) fn needs_integers(symbol: &str) -> HostError {
    let error = HostError::ty(format!("`{symbol}` needs integers or bools"));
    if symbol == "^" {
        return error.help("a power is written `pow(x, y)`; `bitcast(x, u32)` gives the bits of an `f32`");
    }
    error.help("`bitcast(x, u32)` gives the bits of an `f32`")
}

/// Applies `& | ^ << >>` to integers of 64 bits, or to truth values.
pub(crate) fn binary(op: Operator, shape: &[usize], a: &Dense, b: &Dense) -> HostResult<Numbers> {
    use Operator::{And, Or, Shl, Shr, Xor};
    let (x, y) = (a.broadcast_to(shape), b.broadcast_to(shape));
    if let (Numbers::Bool(x), Numbers::Bool(y)) = (&x, &y) {
        return match op {
            And => Ok(Numbers::Bool(zip(x, y, |x, y| x & y))),
            Or => Ok(Numbers::Bool(zip(x, y, |x, y| x | y))),
            Xor => Ok(Numbers::Bool(zip(x, y, |x, y| x ^ y))),
            _ => Err(HostError::ty(format!("`{}` needs integers", op.name()))),
        };
    }
    if x.class().max(y.class()) == Class::Float {
        return Err(needs_integers(op.name()));
    }
    let (x, y) = (x.into_ints().unwrap_or_default(), y.into_ints().unwrap_or_default());
    let shift = |y: i64| u32::try_from(y).ok().filter(|by| *by < 64);
    Ok(Numbers::Int(match op {
        And => zip(&x, &y, |x, y| x & y),
        Or => zip(&x, &y, |x, y| x | y),
        Xor => zip(&x, &y, |x, y| x ^ y),
        Shr => zip(&x, &y, |x, y| x >> shift(y).unwrap_or(63)),
        Shl => {
            let kept = |x: i64, by: u32| Some(x << by).filter(|shifted| shifted >> by == x);
            let shifted = zip(&x, &y, |x, y| if x == 0 { Some(0) } else { kept(x, shift(y)?) });
            if let Some(at) = shifted.iter().position(Option::is_none) {
                let error = HostError::arithmetic(format!("`{} << {}` overflows i64", x[at], y[at]));
                return Err(error.help("mask what is to be lost first: `(x & mask) << n`"));
            }
            shifted.into_iter().flatten().collect()
        }
        _ => return Err(HostError::ty(format!("`{}` has no bits", op.name()))),
    }))
}

//! Applies operators to the elements of all threads at once. [`Operator::eval`] defines the results; the common cases are written
//! out so that the compiler vectorizes their loops.

use hx_dtype::{DType, Operator};

use crate::cast::is_fill;

/// The operands of one operator. Operands beyond its arity are ignored.
#[derive(Clone, Copy)]
pub(crate) struct Args<'s>(pub(crate) [&'s [u64]; 3]);

/// Sets `out` to the operator's value for each thread.
pub(crate) fn apply(operator: Operator, dtype: DType, out: &mut [u64], args: Args<'_>) {
    let operator = operator.exact();
    let done = match (operator, dtype) {
        (Operator::Select, _) => {
            args.ternary(out, |c, x, y| if c != 0 { x } else { y });
            true
        }
        (_, DType::F32) => single(operator, out, args),
        (_, DType::F64) => double(operator, out, args),
        (_, DType::F16) => half(operator, out, args, |x| DType::F16.decode(x), |x| DType::F16.encode(x)),
        (_, DType::Bf16) => half(operator, out, args, |x| DType::Bf16.decode(x), |x| DType::Bf16.encode(x)),
        (_, DType::I32) => word(operator, out, args),
        (_, DType::U32) => bits(operator, out, args),
        (operator, dtype) => {
            evaluate(operator, dtype, out, args);
            true
        }
    };
    if !done {
        evaluate(operator, dtype, out, args);
    }
    if matches!(operator, Operator::Max | Operator::Min) && dtype.bits() >= 16 {
        keep_unwritten(dtype, out, args);
    }
}

/// Computes as the definition does, for types and operators without a loop of their own.
fn evaluate(operator: Operator, dtype: DType, out: &mut [u64], args: Args<'_>) {
    args.ternary(out, |x, y, z| operator.eval(dtype, &[x, y, z]));
}

/// Makes a maximum or minimum that reads the fill of unwritten memory that fill as well. The fill is a NaN, which the hardware
/// drops, so the result would be the other number and hide the read.
fn keep_unwritten(dtype: DType, out: &mut [u64], args: Args<'_>) {
    let [x, y, _] = args.0;
    if x.iter().chain(y).any(|bits| is_fill(dtype, *bits)) {
        let fill = dtype.mask();
        let either = out.iter_mut().zip(x.iter().zip(y));
        either.filter(|(_, (x, y))| **x == fill || **y == fill).for_each(|(out, _)| *out = fill);
    }
}

impl Args<'_> {
    #[inline]
    fn unary(self, out: &mut [u64], f: impl Fn(u64) -> u64) {
        out.iter_mut().zip(self.0[0]).for_each(|(o, x)| *o = f(*x));
    }

    #[inline]
    fn binary(self, out: &mut [u64], f: impl Fn(u64, u64) -> u64) {
        let [x, y, _] = self.0;
        out.iter_mut().zip(x.iter().zip(y)).for_each(|(o, (x, y))| *o = f(*x, *y));
    }

    #[inline]
    fn ternary(self, out: &mut [u64], f: impl Fn(u64, u64, u64) -> u64) {
        let [x, y, z] = self.0;
        out.iter_mut().zip(x.iter().zip(y.iter().zip(z))).for_each(|(o, (x, (y, z)))| *o = f(*x, *y, *z));
    }
}

/// Computes in f32; returns false if `operator` has no loop here. Sums, products, quotients and roots in f32 equal those
/// rounded from f64.
fn single(operator: Operator, out: &mut [u64], args: Args<'_>) -> bool {
    #[inline]
    fn of(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    #[inline]
    fn bits(x: f32) -> u64 {
        u64::from(x.to_bits())
    }
    // Functions that are evaluated in f64 and rounded.
    let wide = |out: &mut [u64], f: fn(f64) -> f64| args.unary(out, |x| bits(f(f64::from(of(x))) as f32));
    match operator {
        Operator::Neg => args.unary(out, |x| bits(-of(x))),
        Operator::Abs => args.unary(out, |x| bits(of(x).abs())),
        Operator::Sqrt => args.unary(out, |x| bits(of(x).sqrt())),
        Operator::Exp => wide(out, f64::exp),
        Operator::Exp2 => wide(out, f64::exp2),
        Operator::Log => wide(out, f64::ln),
        Operator::Log2 => wide(out, f64::log2),
        Operator::Rsqrt => wide(out, |x| 1.0 / x.sqrt()),
        Operator::Tanh => wide(out, f64::tanh),
        Operator::Sigmoid => wide(out, |x| 1.0 / (1.0 + (-x).exp())),
        Operator::Add => args.binary(out, |x, y| bits(of(x) + of(y))),
        Operator::Sub => args.binary(out, |x, y| bits(of(x) - of(y))),
        Operator::Mul => args.binary(out, |x, y| bits(of(x) * of(y))),
        Operator::Div => args.binary(out, |x, y| bits(of(x) / of(y))),
        // Equal numbers have equal bits, except for zeros: -0 orders below 0.
        Operator::Min => {
            args.binary(out, |x, y| if of(x) == of(y) { x | y } else { bits(of(x).min(of(y))) });
        }
        Operator::Max => {
            args.binary(out, |x, y| if of(x) == of(y) { x & y } else { bits(of(x).max(of(y))) });
        }
        Operator::Lt => args.binary(out, |x, y| u64::from(of(x) < of(y))),
        Operator::Le => args.binary(out, |x, y| u64::from(of(x) <= of(y))),
        Operator::Eq => args.binary(out, |x, y| u64::from(of(x) == of(y))),
        Operator::Ne => args.binary(out, |x, y| u64::from(of(x) != of(y))),
        Operator::Fma => args.ternary(out, |x, y, z| bits(of(x).mul_add(of(y), of(z)))),
        _ => return false,
    }
    true
}

fn double(operator: Operator, out: &mut [u64], args: Args<'_>) -> bool {
    let of = f64::from_bits;
    match operator {
        Operator::Neg => args.unary(out, |x| (-of(x)).to_bits()),
        Operator::Add => args.binary(out, |x, y| (of(x) + of(y)).to_bits()),
        Operator::Sub => args.binary(out, |x, y| (of(x) - of(y)).to_bits()),
        Operator::Mul => args.binary(out, |x, y| (of(x) * of(y)).to_bits()),
        Operator::Div => args.binary(out, |x, y| (of(x) / of(y)).to_bits()),
        Operator::Fma => args.ternary(out, |x, y, z| of(x).mul_add(of(y), of(z)).to_bits()),
        _ => return false,
    }
    true
}

/// Computes 16-bit floats; `of` decodes one and `bits` rounds to one. Returns false if `operator` has no loop here.
#[inline]
fn half(
    operator: Operator,
    out: &mut [u64],
    args: Args<'_>,
    of: impl Fn(u64) -> f64,
    bits: impl Fn(f64) -> u64,
) -> bool {
    match operator {
        Operator::Add => args.binary(out, |x, y| bits(of(x) + of(y))),
        Operator::Sub => args.binary(out, |x, y| bits(of(x) - of(y))),
        Operator::Mul => args.binary(out, |x, y| bits(of(x) * of(y))),
        Operator::Fma => args.ternary(out, |x, y, z| bits(hx_dtype::fused_to_odd(of(x), of(y), of(z)))),
        Operator::Lt => args.binary(out, |x, y| u64::from(of(x) < of(y))),
        Operator::Le => args.binary(out, |x, y| u64::from(of(x) <= of(y))),
        _ => return false,
    }
    true
}

fn word(operator: Operator, out: &mut [u64], args: Args<'_>) -> bool {
    let of = |bits: u64| bits as i32;
    let bits = |x: i32| u64::from(x as u32);
    match operator {
        Operator::Add => args.binary(out, |x, y| bits(of(x).wrapping_add(of(y)))),
        Operator::Sub => args.binary(out, |x, y| bits(of(x).wrapping_sub(of(y)))),
        Operator::Mul => args.binary(out, |x, y| bits(of(x).wrapping_mul(of(y)))),
        Operator::Min => args.binary(out, |x, y| bits(of(x).min(of(y)))),
        Operator::Max => args.binary(out, |x, y| bits(of(x).max(of(y)))),
        Operator::Lt => args.binary(out, |x, y| u64::from(of(x) < of(y))),
        Operator::Le => args.binary(out, |x, y| u64::from(of(x) <= of(y))),
        Operator::Eq => args.binary(out, |x, y| u64::from(x == y)),
        Operator::Ne => args.binary(out, |x, y| u64::from(x != y)),
        _ => return false,
    }
    true
}

/// Computes in `u32`; returns false if `operator` has no loop here. Elements have no bits above bit 31, so their product is
/// exact in 64 bits.
fn bits(operator: Operator, out: &mut [u64], args: Args<'_>) -> bool {
    let low = |x: u32| u64::from(x);
    match operator {
        Operator::Add => args.binary(out, |x, y| low((x as u32).wrapping_add(y as u32))),
        Operator::Mul => args.binary(out, |x, y| low((x as u32).wrapping_mul(y as u32))),
        Operator::And => args.binary(out, |x, y| x & y),
        Operator::Or => args.binary(out, |x, y| x | y),
        Operator::Xor => args.binary(out, |x, y| x ^ y),
        Operator::Mulhi => args.binary(out, |x, y| (x * y) >> 32),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATORS: [Operator; 58] = {
        use Operator::*;
        [
            Neg, Abs, Not, Exp, Exp2, Log, Log2, Sqrt, Rsqrt, Tanh, Sigmoid, Sin, Cos, Floor, Ceil, Round,
            Erf, Log10, Exp10, Expm1, Log1p, Cbrt, Sinh, Cosh, Tan, Asin, Acos, Atan, Erfinv, Lgamma, Trunc,
            Sign, IsNan, Popcount, Clz, Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor, Shl, Shr, Mulhi,
            Pow, Atan2, Fmod, Copysign, Lt, Le, Eq, Ne, Fma, Select,
        ]
    };

    /// Returns the patterns of some numbers that are hard in some type.
    fn samples(dtype: DType) -> Vec<u64> {
        let numbers = [0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 7.0, 1e-7, 3e38, -65504.0, f64::INFINITY, f64::NAN];
        let mut out: Vec<u64> = numbers.iter().map(|x| dtype.encode(*x)).collect();
        out.extend([1, 0x8001, 0x3ff7, 0x7ff0_0001, 0x8000_0000, u64::MAX].map(|b| b & dtype.mask()));
        out
    }

    #[test]
    fn every_way_agrees_with_the_definition() {
        for dtype in DType::ALL {
            let samples = samples(dtype);
            for operator in OPERATORS {
                let n = samples.len();
                let pick = |f: fn(usize, usize) -> usize| -> Vec<u64> {
                    (0..n * n * n).map(|i| samples[f(i, n)]).collect()
                };
                let [x, y, z] = [pick(|i, n| i % n), pick(|i, n| i / n % n), pick(|i, n| i / n / n)];
                let mut out = vec![0; x.len()];
                apply(operator, dtype, &mut out, Args([&x, &y, &z]));
                let result = operator.result(dtype);
                for (i, got) in out.iter().enumerate() {
                    let want = operator.eval(dtype, &[x[i], y[i], z[i]]);
                    // Another test is about memory never written.
                    let chooses = matches!(operator, Operator::Max | Operator::Min);
                    if chooses && [x[i], y[i]].iter().any(|bits| is_fill(dtype, *bits)) {
                        continue;
                    }
                    let same =
                        result.is_float() && result.decode(*got).is_nan() && result.decode(want).is_nan();
                    let args = (x[i], y[i], z[i]);
                    assert!(*got == want || same, "{operator:?} {dtype} {args:x?}: {got:#x}, {want:#x}");
                }
            }
        }
    }

    #[test]
    fn a_maximum_with_memory_never_written_is_that() {
        for dtype in [DType::F16, DType::Bf16, DType::F32, DType::F64] {
            let (fill, one, nan) = (dtype.mask(), dtype.encode(1.0), dtype.encode(f64::NAN));
            for operator in [Operator::Max, Operator::Min] {
                let mut out = [0; 4];
                apply(
                    operator,
                    dtype,
                    &mut out,
                    Args([&[fill, one, one, nan], &[one, fill, nan, one], &[0; 4]]),
                );
                assert_eq!(out, [fill, fill, one, one], "{operator:?} {dtype}");
            }
        }
    }
}

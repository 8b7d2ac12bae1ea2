//! Rewrites expressions for the hardware. Types without operators of their own go through f32, and a product that is added
//! at once becomes a fused multiply-add. Both are decided here, so that the simulator and the GPU agree.

use hx_dtype::{DType, Operator};
use hx_target::Catalogue;
use hx_tile::Scalar;

/// Rewrites an expression for the hardware.
///
/// A single operator on 16-bit floats, computed in f32 and rounded once, gives the same result, because f32 has more than
/// twice their digits. A fused multiply-add of 16-bit floats, computed in f32 and rounded again, would round twice, so the
/// catalogue has rows of its own for it.
pub(super) fn hardware(rows: &Catalogue, value: &Scalar) -> Scalar {
    widened(rows, &contracted(rows, value))
}

/// Makes each `a · b + c`, `a · b - c` and `c - a · b` a fused multiply-add, which rounds once, if the catalogue has one for
/// the type.
pub(super) fn contracted(rows: &Catalogue, value: &Scalar) -> Scalar {
    match value {
        Scalar::Apply { operator, dtype, args } => {
            fuse(rows, (*operator, *dtype), args.iter().map(|arg| contracted(rows, arg)).collect())
        }
        Scalar::Cast { to, arg } => contracted(rows, arg).cast(*to),
        Scalar::Bitcast { to, arg } => contracted(rows, arg).bitcast(*to),
        Scalar::Inlined(inlined) => {
            Scalar::Inlined(Box::new(inlined.map(&mut |part| contracted(rows, part))))
        }
        leaf => leaf.clone(),
    }
}

/// Computes in f32 where a floating-point type has no operator of its own.
fn widened(rows: &Catalogue, value: &Scalar) -> Scalar {
    let (operator, dtype, args) = match value {
        Scalar::Apply { operator, dtype, args } => {
            (*operator, *dtype, args.iter().map(|arg| widened(rows, arg)))
        }
        Scalar::Cast { to, arg } => return widened(rows, arg).cast(*to),
        Scalar::Bitcast { to, arg } => return widened(rows, arg).bitcast(*to),
        Scalar::Inlined(inlined) => {
            return Scalar::Inlined(Box::new(inlined.map(&mut |part| widened(rows, part))));
        }
        leaf => return leaf.clone(),
    };
    if rows.compute(operator, dtype).is_some() || !dtype.is_float() {
        return Scalar::apply(operator, dtype, args.collect::<Vec<_>>());
    }
    let wide = args.enumerate().map(|(i, arg)| {
        let is_condition = operator == Operator::Select && i == 0;
        if is_condition { arg } else { arg.cast(DType::F32) }
    });
    let wide: Vec<Scalar> = wide.collect();
    let result = Scalar::apply(operator, DType::F32, wide);
    if operator.is_comparison() { result } else { result.cast(dtype) }
}

/// Applies an operator. A sum or difference with a product becomes a fused multiply-add if the catalogue has one for the float
/// type. If both operands are products, the first one is fused.
fn fuse(rows: &Catalogue, (operator, dtype): (Operator, DType), args: Vec<Scalar>) -> Scalar {
    let fusible = rows.fuses(dtype);
    let product = |s: &Scalar| match s {
        Scalar::Apply { operator: Operator::Mul, args, .. } => Some((args[0].clone(), args[1].clone())),
        _ => None,
    };
    let negated = |s: Scalar| Scalar::apply(Operator::Neg, dtype, [s]);
    let fma = |a, b, c| Scalar::apply(Operator::Fma, dtype, [a, b, c]);
    match (operator, args.as_slice()) {
        (Operator::Add, [x, y]) if fusible => match (product(x), product(y)) {
            (Some((a, b)), _) => fma(a, b, y.clone()),
            (None, Some((a, b))) => fma(a, b, x.clone()),
            _ => Scalar::apply(operator, dtype, args),
        },
        (Operator::Sub, [x, y]) if fusible => match (product(x), product(y)) {
            (Some((a, b)), _) => fma(a, b, negated(y.clone())),
            (None, Some((a, b))) => fma(negated(a), b, x.clone()),
            _ => Scalar::apply(operator, dtype, args),
        },
        _ => Scalar::apply(operator, dtype, args),
    }
}

/// Returns the identity of an operator, as bits of the type; `None` for an operator that does not reduce.
pub(super) fn identity(operator: Operator, dtype: DType) -> Option<u64> {
    let (lowest, highest) = if dtype.is_float() {
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        (i64::MIN as f64, u64::MAX as f64)
    };
    let value = match operator {
        Operator::Add | Operator::Or | Operator::Xor => 0.0,
        Operator::Mul => 1.0,
        Operator::Max => lowest,
        Operator::Min => highest,
        Operator::And => return Some(if dtype.bits() == 64 { u64::MAX } else { (1 << dtype.bits()) - 1 }),
        _ => return None,
    };
    // Integers saturate to the ends of their range.
    Some(dtype.encode(value))
}

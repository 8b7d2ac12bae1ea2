//! Chooses approximate arithmetic where nobody can see it: where a value is rounded to 16 bits or fewer before anything else is made of it.

use std::collections::BTreeMap;

use hx_dtype::{DType, Operator};
use hx_tile::{OpKind, Rounding, Scalar, TileProgram};

use crate::finish::visit;

/// The largest magnitude of an exponent for which [`Operator::PowApprox`] has a relative error below 2⁻¹⁵.
const LARGEST_POWER: f64 = 64.0;

/// Replaces operators by their approximate forms where the result keeps no bit of the difference, apart from a neighbouring number of the
/// type to which it is rounded.
///
/// Only operators that keep relative errors may stand between the value and the rounding. A sum may cancel its leading bits, so `1.0 + tanh(x)`
/// is exact.
pub(crate) fn approximate(program: &mut TileProgram) {
    let mut rounding = Rounding::new(program, keeps_relative_errors);
    let mut changed = BTreeMap::new();
    for (op, _) in program.ops(1.0) {
        let OpKind::Map(map) = &op.kind else { continue };
        let value = rounding.rewritten(map, &mut form);
        if value != map.value {
            changed.insert(op.id, value);
        }
    }
    visit(&mut program.body, &mut |op| {
        if let (OpKind::Map(map), Some(value)) = (&mut op.kind, changed.remove(&op.id)) {
            map.value = value;
        }
    });
}

/// Reports whether the relative error of the result is at most the sum of those of the operands, up to its own rounding.
fn keeps_relative_errors(operator: Operator, args: &[Scalar]) -> bool {
    use Operator::{Abs, Add, Div, Max, Min, Mul, Neg, Select, Sqrt};
    match operator {
        Neg | Abs | Mul | Div | Sqrt | Min | Max | Select => true,
        // A sum of numbers of one sign cancels nothing.
        Add => args.iter().all(is_never_negative),
        _ => false,
    }
}

/// Applies an operator, in its approximate form if the type to which the result is rounded covers the error.
fn form((operator, dtype): (Operator, DType), args: Vec<Scalar>, rounded: Option<DType>) -> Scalar {
    let approximate = operator.approximate().filter(|_| dtype.is_float() && dtype.bits() <= 32);
    let chosen = approximate.filter(|_| rounded.is_some_and(|to| covers(operator, &args, to)));
    Scalar::apply(chosen.unwrap_or(operator), dtype, args)
}

/// Reports whether the approximate form of an operator, rounded to a type, is at most one unit of that type beside the exact result.
fn covers(operator: Operator, args: &[Scalar], to: DType) -> bool {
    match (operator, args) {
        // A scale is rounded up, so that a tiny error doubles it.
        _ if to == DType::F8E8m0 => false,
        // The C++ compiler makes a multiplication of a division by a power of two.
        (Operator::Div, [_, Scalar::Const { bits, dtype }]) => {
            let divisor = dtype.decode(*bits).abs();
            !(divisor.is_normal() && divisor.log2().fract() == 0.0)
        }
        (Operator::Pow, [x, Scalar::Const { bits, dtype }]) => {
            let power = dtype.decode(*bits).abs();
            power > 0.0 && power <= LARGEST_POWER && is_never_negative(x)
        }
        (Operator::Pow, _) => false,
        _ => true,
    }
}

/// Reports whether the form of an expression shows that its value is NaN or at least 0.
fn is_never_negative(value: &Scalar) -> bool {
    use Operator::{Abs, Add, Div, Exp, Exp2, Max, Min, Mul, Select, Sigmoid, Sqrt};
    match value {
        Scalar::Const { bits, dtype } => dtype.decode(*bits).is_sign_positive(),
        Scalar::Cast { to, arg } => to.is_float() && arg.dtype().is_float() && is_never_negative(arg),
        Scalar::Apply { operator, args, .. } => match (operator.exact(), args.as_slice()) {
            (Abs | Exp | Exp2 | Sigmoid | Sqrt, _) => true,
            // `max` drops a NaN, and the other number may be negative.
            (Add | Mul | Div | Max | Min, args) if args.iter().all(is_never_negative) => true,
            (Mul, [x, y]) => x == y,
            (Max, [_, number @ Scalar::Const { .. }] | [number @ Scalar::Const { .. }, _]) => {
                is_never_negative(number)
            }
            (Select, [_, x, y]) => is_never_negative(x) && is_never_negative(y),
            _ => false,
        },
        _ => false,
    }
}

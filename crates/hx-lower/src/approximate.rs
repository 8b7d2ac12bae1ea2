//! Chooses approximate arithmetic for values that are rounded to 16 bits or fewer before anything else is made of them.

use std::collections::BTreeMap;

use hx_dtype::{DType, Operator};
use hx_tile::{OpKind, Rounding, Scalar, TileProgram};

use crate::finish::visit;

/// The largest magnitude of an exponent for which [`Operator::PowApprox`] has a relative error below 2⁻¹⁵.
const LARGEST_POWER: f64 = 64.0;

/// Replaces operators by their approximate forms if the result, rounded, is the exact one or a neighbour of it.
///
/// Only operators that keep relative errors may stand between the value and the rounding. A sum may cancel its leading bits, so `1.0 + tanh(x)`
/// is exact.
pub(crate) fn approximate(program: &mut TileProgram) {
    replace(program, keeps_values, Errors::OfUnits);
    replace(program, keeps_relative_errors, Errors::OfParts);
}

/// The approximations of a pass over the program, by the size of their errors.
#[derive(Clone, Copy, PartialEq)]
enum Errors {
    /// Errors of up to one unit of the type to which the result is rounded. A product of two of them may be off by two units.
    OfUnits,
    /// Errors of small parts of a unit.
    OfParts,
}

impl Errors {
    /// Returns the errors of the approximate form of an operator whose result is rounded to a type.
    fn of(operator: Operator, to: DType) -> Errors {
        if operator == Operator::Tanh && to == DType::F16 { Errors::OfUnits } else { Errors::OfParts }
    }
}

/// Replaces operators whose errors are of this size. Between the value and its rounding may be operators that `passes` names.
fn replace(program: &mut TileProgram, passes: fn(Operator, &[Scalar]) -> bool, errors: Errors) {
    let mut rounding = Rounding::new(program, passes);
    let mut changed = BTreeMap::new();
    for (op, _) in program.ops(1.0) {
        let OpKind::Map(map) = &op.kind else { continue };
        let value =
            rounding.rewritten(map, &mut |applied, args, rounded| form(applied, args, rounded, errors));
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

/// Reports whether the result is one of the operands, up to its sign.
fn keeps_values(operator: Operator, _: &[Scalar]) -> bool {
    use Operator::{Abs, Max, Min, Neg, Select};
    matches!(operator, Neg | Abs | Min | Max | Select)
}

/// Reports whether the relative error of the result is at most the sum of those of the operands, up to its own rounding.
fn keeps_relative_errors(operator: Operator, args: &[Scalar]) -> bool {
    match operator {
        Operator::Mul | Operator::Div | Operator::Sqrt => true,
        // A sum of numbers of one sign cancels nothing.
        Operator::Add => args.iter().all(is_never_negative),
        _ => keeps_values(operator, args),
    }
}

/// Applies an operator, in its approximate form if the type to which the result is rounded covers the error.
fn form(
    (operator, dtype): (Operator, DType),
    args: Vec<Scalar>,
    rounded: Option<DType>,
    errors: Errors,
) -> Scalar {
    let approximate = operator.approximate().filter(|_| dtype.is_float() && dtype.bits() <= 32);
    let exact = Scalar::Apply { operator, dtype, args };
    let is_covered = |to: DType| Errors::of(operator, to) == errors && covers(&exact, to);
    let chosen = approximate.filter(|_| rounded.is_some_and(is_covered));
    match (chosen, exact) {
        (Some(operator), Scalar::Apply { dtype, args, .. }) => Scalar::Apply { operator, dtype, args },
        (_, exact) => exact,
    }
}

/// Reports whether the approximate form of an operator, rounded to a type, is at most one unit of that type beside the exact result.
fn covers(exact: &Scalar, to: DType) -> bool {
    let Scalar::Apply { operator, args, .. } = exact else { return false };
    match (operator, args.as_slice()) {
        // A scale is rounded up, so that a tiny error doubles it.
        _ if to == DType::F8E8m0 => false,
        (Operator::Div, _) => !exact.divides_by_power_of_two(),
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
            (Mul, [x, y]) => x == y && !x.is_volatile(),
            (Max, [_, number @ Scalar::Const { .. }] | [number @ Scalar::Const { .. }, _]) => {
                is_never_negative(number)
            }
            (Select, [_, x, y]) => is_never_negative(x) && is_never_negative(y),
            _ => false,
        },
        _ => false,
    }
}

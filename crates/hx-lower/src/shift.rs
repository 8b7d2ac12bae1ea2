//! Shifts: the result has the type of the left operand, and the count is an integer of any type.
//!
//! A count of another type is converted such that a count outside `0..bits` stays outside: it moves every bit out, whatever the
//! two types are.

use hx_base::codes;
use hx_dtype::{DType, Operator};
use hx_hir::ExprId;
use hx_index::Expr;
use hx_tile::Scalar;

use crate::elementwise::{Operand, dtype_of};
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Lazy, Value};
use crate::whole::width;

impl Lowering<'_> {
    /// Converts the count of a shift to the type of its left operand; returns the operands of any other operator unchanged.
    ///
    /// A literal on the left has no type: it takes that of the count.
    pub(crate) fn with_count(
        &mut self,
        id: ExprId,
        operator: Operator,
        operands: Vec<Operand>,
    ) -> Lower<Vec<Operand>> {
        let [left, (at, count)] = operands.as_slice() else { return Ok(operands) };
        if !matches!(operator, Operator::Shl | Operator::Shr) {
            return Ok(operands);
        }
        match (dtype_of(&left.1), &left.1) {
            (Some(dtype), _) if dtype.is_int() => {
                let count = self.converted_count(id, operator, (*at, count.clone()), dtype)?;
                Ok(vec![left.clone(), (*at, count)])
            }
            (None, Value::Int(x)) if x.as_const().is_none() => {
                self.known_count(id, operator, count, DType::I64)?;
                Ok(operands)
            }
            // Errors of the left operand are those of any operator.
            _ => Ok(operands),
        }
    }

    fn converted_count(
        &mut self,
        id: ExprId,
        operator: Operator,
        (at, count): Operand,
        dtype: DType,
    ) -> Lower<Value> {
        self.known_count(id, operator, &count, dtype)?;
        let own = dtype_of(&count);
        if let Some(own) = own.filter(|own| !own.is_int()) {
            let message = format!("expected an integer as the count of `{}`, found `{own}`", operator.name());
            return self.fail(&codes::TYPE_MISMATCH, at, message);
        }
        if own == Some(dtype) {
            return Ok(count);
        }
        if let Some(whole) = count.whole() {
            return Ok(match whole.value.as_const() {
                // The check above has accepted it.
                Some(_) => Value::Int(whole.value),
                None => self.whole_count(whole.value, dtype),
            });
        }
        Ok(match self.lazy_operand(at, count)? {
            Value::Lazy(lazy) => Value::Lazy(Lazy { value: converted(lazy.value, dtype), ..lazy }),
            Value::Scalar(scalar) => Value::Scalar(converted(scalar, dtype)),
            // A choice between literals takes the type, and any other value is an error of the operator.
            other => other,
        })
    }

    /// Converts a count that is the same for the whole block. A count with known bounds needs no comparison.
    fn whole_count(&self, count: Expr, dtype: DType) -> Value {
        let bits = i64::from(dtype.bits());
        let number = |value: Expr, dtype| Value::Scalar(Scalar::Integer { value, dtype });
        let (low, high) = self.facts.range(&count);
        let holds = |x: i64| width(dtype).is_none_or(|width| width.holds(x));
        if low.is_some_and(|low| low >= 0) && high.is_some_and(holds) {
            return number(count, dtype);
        }
        if low.is_some_and(|low| low >= 0) && holds(bits) {
            return number(count.minimum(&Expr::constant(bits), &self.facts), dtype);
        }
        Value::Scalar(converted(Scalar::Integer { value: count, dtype: DType::I64 }, dtype))
    }

    /// Reports a known count that moves every bit out, which a program rarely intends.
    pub(crate) fn known_count(
        &mut self,
        id: ExprId,
        operator: Operator,
        count: &Value,
        dtype: DType,
    ) -> Lower<()> {
        let bits = dtype.bits();
        let known = if let Value::Scalar(Scalar::Const { bits, dtype: DType::U64 }) = count {
            Some(i128::from(*bits))
        } else if let Value::Scalar(Scalar::Integer { value, .. }) = count {
            value.as_const().map(i128::from)
        } else {
            count.whole().and_then(|whole| whole.value.as_const()).map(i128::from)
        };
        let Some(by) = known.filter(|by| !(0..i128::from(bits)).contains(by)) else { return Ok(()) };
        let sign = operator.name();
        let opposite = if operator == Operator::Shl { ">>" } else { "<<" };
        let message = format!("found the count {by} of `{sign}`, expected 0 to {} for `{dtype}`", bits - 1);
        let error = self.error(&codes::LITERAL_OUT_OF_RANGE, id, message);
        Err(self.report(match u32::try_from(-by) {
            Ok(back) if back < bits => error.help(format!("`{opposite} {back}` shifts the other way")),
            _ => error.help(format!(
                "no bit of the {bits} is left: `cast(…, T)` to a wider type first, or write the result"
            )),
        }))
    }
}

/// Converts a count to the type of the left operand.
fn converted(count: Scalar, dtype: DType) -> Scalar {
    let own = count.dtype();
    // The count keeps its bits, or gets more of its sign: a negative one becomes no count below the width.
    if own.bits() <= dtype.bits() {
        return count.cast(dtype);
    }
    let number = |value: u32| Scalar::Const { bits: u64::from(value), dtype: own };
    let compared = |x, y| Scalar::apply(Operator::Lt, own, [x, y]);
    let below = compared(count.clone(), number(dtype.bits()));
    let inside = if own.is_signed_int() {
        let natural = Scalar::apply(Operator::Le, own, [number(0), count.clone()]);
        Scalar::apply(Operator::And, DType::Bool, [natural, below])
    } else {
        below
    };
    // All ones are -1 or the largest number, and both move every bit out.
    let outside = Scalar::Const { bits: dtype.mask(), dtype };
    Scalar::apply(Operator::Select, dtype, [inside, count.cast(dtype), outside])
}

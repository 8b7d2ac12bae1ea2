//! Operators on bits: those of the signs `& | ^ << >> ~`, `bitcast`, and the upper half of a product.
//!
//! The result stays an expression of integers if such an expression can state it, so that proofs see it. Otherwise it becomes a
//! number of the block.

use hx_base::codes;
use hx_dtype::{DType, Operator};
use hx_hir::ExprId;
use hx_index::{BitOp, Expr};
use hx_tile::Scalar;

use crate::bit_operator::elementwise;
use crate::builtin_call::BuiltinCall;
use crate::elementwise::{condition, dtype_of, is_elementwise};
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Lazy, Value};
use crate::whole::{Whole, width};

impl Lowering<'_> {
    /// Applies an operator on bits to integers without a type, which have 64 bits.
    pub(crate) fn int_bits(&mut self, id: ExprId, op: BitOp, a: &Expr, b: &Expr) -> Lower<Value> {
        if let (Some(x), Some(y)) = (a.as_const(), b.as_const()) {
            return match op.eval(x, y) {
                Some(value) => Ok(Value::Int(Expr::constant(value))),
                None => {
                    let message = format!("`{x} << {y}` overflows 64 bits");
                    self.fail(&codes::CONSTANT_ERROR, id, message)
                }
            };
        }
        self.short(id, a, b)?;
        if matches!(op, BitOp::Shl | BitOp::Shr) {
            self.known_count(id, elementwise(op), &Value::Int(b.clone()), DType::I64)?;
        }
        if let Some(value) = op.apply(a, b, &self.facts) {
            return Ok(Value::Int(value));
        }
        let number = |value: &Expr| Scalar::Integer { value: value.clone(), dtype: DType::I64 };
        Ok(Value::Scalar(Scalar::apply(elementwise(op), DType::I64, [number(a), number(b)])))
    }

    /// Applies an operator on bits to typed whole numbers; `None` if only an elementwise expression states the result.
    pub(crate) fn whole_bits(&self, op: BitOp, a: &Expr, b: &Expr, dtype: Option<DType>) -> Option<Expr> {
        let width = dtype.and_then(width);
        match (op, width) {
            // A product that wraps has the bits of the shift.
            (BitOp::Shl, Some(width)) => {
                let by = b.as_const().and_then(|by| u32::try_from(by).ok()).filter(|by| *by < width.bits)?;
                let power = Expr::constant(1i64.checked_shl(by).filter(|power| *power > 0)?);
                Some(self.wrapping(Operator::Mul, a, &power, width))
            }
            // The other operators leave numbers of a type in its range.
            _ => op.apply(a, b, &self.facts),
        }
    }

    /// Evaluates `~x`.
    pub(crate) fn bit_not(&mut self, id: ExprId, operand: ExprId, value: Value) -> Lower<Value> {
        if let Value::Bool(cond) = value {
            return Ok(Value::Bool(cond.negate()));
        }
        if let Some(Whole { value, dtype }) = value.whole() {
            let unsigned = dtype.and_then(width).filter(|width| !width.signed);
            let ones = Expr::constant(unsigned.map_or(-1, |width| width.range().1));
            return Ok(Whole { value: (ones - value).simplify(&self.facts), dtype }.into_value());
        }
        match dtype_of(&value) {
            Some(DType::Bool) => self.apply(id, Operator::Not, vec![(operand, value)]),
            Some(dtype) if dtype.is_int() => {
                let ones = Value::Scalar(Scalar::Const { bits: dtype.mask(), dtype });
                self.apply(id, Operator::Xor, vec![(operand, value), (operand, ones)])
            }
            Some(dtype) => {
                let message = format!("found elements of type `{dtype}`, for which `~` has no meaning");
                self.fail(&codes::NO_SUCH_OPERATION, id, message)
            }
            None => self.fail(&codes::NO_SUCH_OPERATION, id, format!("found {} after `~`", value.what())),
        }
    }

    /// Evaluates `bitcast(t, T, axis: k)`: the bits of each element, or of a number, as one of another type of the same width, or
    /// those of a tensor as elements of another width along an axis.
    pub(crate) fn bitcast(&mut self, call: &BuiltinCall<'_, '_>, t: ExprId, dtype: ExprId) -> Lower<Value> {
        let value = self.eval(t)?;
        let to = self.dtype(dtype)?;
        let value = match value {
            Value::Tensor(_) => self.lazy_operand(t, value)?,
            Value::Bool(cond) => Value::Scalar(condition(&cond)),
            other => other,
        };
        let from = match &value {
            Value::Lazy(lazy) => lazy.value.dtype(),
            Value::Scalar(scalar) => scalar.dtype(),
            other => {
                let message = format!("expected a tensor or a number of a type, found {}", other.what());
                return self.fail(&codes::TYPE_MISMATCH, t, message);
            }
        };
        if [from, to].contains(&DType::Bool) {
            let message =
                format!("found elements of `{from}` as `{to}`, expected no `bool`, whose bits are 0 or 1");
            let error = self.error(&codes::DTYPE_MISMATCH, call.id, message).label(format!("from `{from}`"));
            return Err(self.report(error.help(format!("`cast(…, {to})` converts the values"))));
        }
        debug_assert!(is_elementwise(&value), "other values have been refused");
        match value {
            Value::Lazy(lazy) if from.bits() != to.bits() => self.bitcast_widths(call, (t, lazy), to),
            Value::Lazy(lazy) => {
                // The axis names no mode that changes, and is checked all the same.
                call.slot(2).map(|axis| self.axis(axis, lazy.shape.len())).transpose()?;
                Ok(Value::Lazy(Lazy { value: lazy.value.bitcast(to), ..lazy }))
            }
            Value::Scalar(scalar) if from.bits() == to.bits() => Ok(Value::Scalar(scalar.bitcast(to))),
            _ => {
                let message = format!(
                    "found a number of {} bits as `{to}` of {} bits, expected one width",
                    from.bits(),
                    to.bits()
                );
                let error =
                    self.error(&codes::DTYPE_MISMATCH, call.id, message).label(format!("from `{from}`"));
                Err(self.report(error.help(format!(
                    "`cast(…, {to})` converts the value; the elements of a tensor change their width along an axis"
                ))))
            }
        }
    }
}

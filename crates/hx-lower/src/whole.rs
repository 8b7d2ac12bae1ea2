//! Whole numbers that are the same for all threads of a block.
//!
//! Dimensions, block indices, loop counters and literals are 64-bit integers without an element type. A parameter, a number
//! read from a tensor, a `cast` and an annotated `let` have an element type, and arithmetic on them wraps like that of tensors
//! of this type.
//!
//! A typed number is still an expression of integers. If a result may leave the range of its type, the expression says that it
//! wraps ([`hx_index::Atom::Wrap`]), so that no proof treats it as an unbounded integer.
//!
//! Numbers of type `u64` do not fit these expressions and stay elementwise values.

use hx_base::codes;
use hx_dtype::{DType, Operator};
use hx_hir::{CmpOp, ExprId, TypeRefId};
use hx_index::{Expr, Facts, Width, floor_div, floor_mod};
use hx_tile::{Leaf, Scalar, Stmt};

use crate::bit_operator::on_bits;
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::Value;

/// A whole number that is the same for all threads of a block.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Whole {
    pub(crate) value: Expr,
    /// The element type; `None` for a dimension, a counter or a literal.
    pub(crate) dtype: Option<DType>,
}

impl Whole {
    fn typed(value: Expr, dtype: DType) -> Whole {
        Whole { value, dtype: Some(dtype) }
    }

    pub(crate) fn into_value(self) -> Value {
        match self.dtype {
            Some(dtype) => Value::Scalar(Scalar::Integer { value: self.value, dtype }),
            None => Value::Int(self.value),
        }
    }
}

impl Value {
    /// Returns the whole number, if the value is one that integer expressions can hold; `None` also for a `u64`.
    pub(crate) fn whole(&self) -> Option<Whole> {
        match self {
            Value::Int(value) => Some(Whole { value: value.clone(), dtype: None }),
            Value::Scalar(Scalar::Integer { value, dtype }) => {
                width(*dtype).map(|_| Whole::typed(value.clone(), *dtype))
            }
            Value::Scalar(Scalar::Const { bits, dtype }) => width(*dtype).map(|width| {
                let value = Expr::constant(width.wrap(*bits as i64));
                Whole::typed(value, *dtype)
            }),
            _ => None,
        }
    }

    /// Replaces a typed whole number by an integer without a type; returns any other value unchanged.
    pub(crate) fn widened(self) -> Value {
        self.whole().map_or(self, |whole| Value::Int(whole.value))
    }
}

/// Returns the width at which integer expressions hold numbers of a type; `None` for `u64` and for types that are no integers.
pub(crate) fn width(dtype: DType) -> Option<Width> {
    (dtype.is_int() && dtype != DType::U64)
        .then(|| Width { bits: dtype.bits(), signed: dtype.is_signed_int() })
}

/// States the range of a symbol of this type.
pub(crate) fn state_range(facts: &mut Facts, symbol: hx_index::Symbol, dtype: DType) {
    if let Some(width) = width(dtype).filter(|width| width.bits < 64) {
        let (low, high) = width.range();
        facts.at_least(symbol.clone(), low);
        facts.at_most(symbol, Expr::constant(high));
    }
}

impl Lowering<'_> {
    /// Applies an operator to whole numbers, at least one of which has a type. Returns `None` if an operand is no whole number,
    /// or if elementwise expressions handle the operator.
    pub(crate) fn whole_apply(
        &mut self,
        id: ExprId,
        operator: Operator,
        operands: &[(ExprId, Value)],
    ) -> Lower<Option<Value>> {
        use Operator::*;
        let wholes: Option<Vec<Whole>> = operands.iter().map(|(_, value)| value.whole()).collect();
        let Some(wholes) = wholes else { return Ok(None) };
        let bits = on_bits(operator);
        if bits.is_none()
            && !matches!(operator, Neg | Abs | Add | Sub | Mul | Div | Rem | Min | Max | Lt | Le | Eq | Ne)
        {
            return Ok(None);
        }
        let at: Vec<ExprId> = operands.iter().map(|(at, _)| *at).collect();
        let dtype = self.common_type(&at, &wholes)?;
        let a = &wholes[0].value;
        let b = wholes.get(1).map_or_else(Expr::default, |b| b.value.clone());
        self.short(id, a, &b)?;
        if matches!(operator, Div | Rem) && b.is_zero() {
            return self.fail(&codes::CONSTANT_ERROR, at.get(1).copied().unwrap_or(id), "division by zero");
        }
        if let Some(op) = bits {
            let stated = self.whole_bits(op, a, &b, dtype);
            let number = |x: &Expr| Scalar::Integer { value: x.clone(), dtype: DType::I64 };
            return Ok(match (stated, dtype) {
                (Some(value), _) => Some(Whole { value, dtype }.into_value()),
                // A dimension is among the operands, so the result has 64 bits.
                (None, None) => {
                    Some(Value::Scalar(Scalar::apply(operator, DType::I64, [number(a), number(&b)])))
                }
                (None, Some(_)) => None,
            });
        }
        let compared = match operator {
            Lt => Some(CmpOp::Lt),
            Le => Some(CmpOp::Le),
            Eq => Some(CmpOp::Eq),
            Ne => Some(CmpOp::Ne),
            _ => None,
        };
        if let Some(op) = compared {
            return Ok(Some(Value::Bool(self.compare(op, a, &b))));
        }
        let value = match dtype.and_then(width) {
            Some(width) => self.wrapping(operator, a, &b, width),
            None => self.exact(operator, a, &b),
        };
        Ok(Some(Whole { value, dtype }.into_value()))
    }

    /// Returns the common type of whole numbers: that of the typed ones, to which constants adapt. `None` is a 64-bit integer
    /// without a type, which loses nothing: the result if a dimension or counter is among them, or no typed number.
    pub(crate) fn common_type(&mut self, at: &[ExprId], wholes: &[Whole]) -> Lower<Option<DType>> {
        let first = wholes.iter().zip(at).find_map(|(w, at)| Some((w.dtype?, *at)));
        let Some((dtype, first)) = first else { return Ok(None) };
        let mut common = Some(dtype);
        for (whole, at) in wholes.iter().zip(at) {
            match (whole.dtype, whole.value.as_const()) {
                (Some(own), _) if own != dtype => return self.mixed_numbers(*at, own, first, dtype),
                (Some(_), _) => {}
                (None, Some(_)) => self.fitting(*at, whole, dtype)?,
                (None, None) if dtype == DType::I64 => {}
                (None, None) => common = None,
            }
        }
        Ok(common)
    }

    pub(crate) fn mixed_numbers<T>(
        &mut self,
        at: ExprId,
        found: DType,
        other: ExprId,
        wanted: DType,
    ) -> Lower<T> {
        let message = format!("expected `{wanted}`, found a number of type `{found}`");
        let error = self
            .error(&codes::DTYPE_MISMATCH, at, message)
            .label(format!("this is `{found}`"))
            .also(self.place(other), format!("this is `{wanted}`"))
            .help(format!("`cast(…, {wanted})` converts"));
        Err(self.report(error))
    }

    /// Reports a constant that the type cannot hold.
    fn fitting(&mut self, at: ExprId, whole: &Whole, dtype: DType) -> Lower<()> {
        match (whole.value.as_const(), width(dtype)) {
            (Some(x), Some(width)) if !width.holds(x) => {
                self.fail(&codes::LITERAL_OUT_OF_RANGE, at, format!("found {x}, which `{dtype}` cannot hold"))
            }
            (Some(x), None) if x < 0 => {
                self.fail(&codes::LITERAL_OUT_OF_RANGE, at, format!("found {x}, which `{dtype}` cannot hold"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the result as an unbounded integer.
    fn exact(&self, operator: Operator, a: &Expr, b: &Expr) -> Expr {
        let facts = &self.facts;
        match operator {
            Operator::Neg => -a.clone(),
            Operator::Abs => a.maximum(&-a.clone(), facts),
            Operator::Sub => (a.clone() - b.clone()).simplify(facts),
            Operator::Mul => (a * b).simplify(facts),
            Operator::Div => a.div(b, facts),
            Operator::Rem => a.rem(b, facts),
            Operator::Min => a.minimum(b, facts),
            Operator::Max => a.maximum(b, facts),
            _ => (a.clone() + b.clone()).simplify(facts),
        }
    }

    /// Returns the result in the range of the type.
    pub(crate) fn wrapping(&self, operator: Operator, a: &Expr, b: &Expr, width: Width) -> Expr {
        if let (Some(x), Some(y)) = (a.as_const(), b.as_const()) {
            return Expr::constant(width.wrap(match operator {
                Operator::Neg => x.wrapping_neg(),
                Operator::Abs => x.wrapping_abs(),
                Operator::Sub => x.wrapping_sub(y),
                Operator::Mul => x.wrapping_mul(y),
                Operator::Div => floor_div(x, y),
                Operator::Rem => floor_mod(x, y),
                Operator::Min => x.min(y),
                Operator::Max => x.max(y),
                _ => x.wrapping_add(y),
            }));
        }
        match operator {
            // The result is one of the operands, or lies between 0 and one of them, so it cannot wrap.
            Operator::Min | Operator::Max | Operator::Rem => self.exact(operator, a, b),
            // Division leaves the range only for the least number divided by -1.
            Operator::Div => {
                let ((least, _), (low, high)) = (self.facts.range(a), self.facts.range(b));
                let stays = !width.signed
                    || least.is_some_and(|least| least > width.range().0)
                    || low.is_some_and(|low| low > -1)
                    || high.is_some_and(|high| high < -1);
                let quotient = self.exact(operator, a, b);
                if stays { quotient } else { quotient.wrap(width, &self.facts) }
            }
            Operator::Abs => {
                let negative = self.wrapping(Operator::Neg, a, &Expr::default(), width);
                a.maximum(&negative, &self.facts)
            }
            _ => {
                // Canonical sums do not wrap their coefficients. An operand with a large coefficient or constant stays a
                // separate atom, so that it is not merged into the sum.
                let [a, b] = [a, b].map(|x| {
                    let large = x.terms().any(|(m, c)| !m.is_empty() && c.unsigned_abs() >= 1 << 30);
                    let apart =
                        large || x.as_const().is_none() && x.constant_term().unsigned_abs() >= 1 << 30;
                    if apart { Expr::atom(hx_index::Atom::Wrap(x.clone(), width)) } else { x.clone() }
                });
                self.exact(operator, &a, &b).wrap(width, &self.facts)
            }
        }
    }

    /// Lowers `cast(x, T)` of a whole number.
    pub(crate) fn cast_whole(&self, whole: Whole, to: DType) -> Value {
        match width(to) {
            Some(width) => Whole::typed(whole.value.wrap(width, &self.facts), to).into_value(),
            None if to == DType::U64 => Value::Scalar(Scalar::Integer { value: whole.value, dtype: to }),
            None => match whole.value.as_const() {
                Some(x) if to.is_float() => Value::Scalar(Scalar::constant(x as f64, to)),
                _ => self.cast_integer(whole.value, to),
            },
        }
    }

    /// Converts a number where an integer of type `dtype` is expected. A constant must fit the type. A 64-bit integer that
    /// provably fits needs no `cast`.
    pub(crate) fn number_as(&mut self, at: ExprId, value: Value, dtype: DType) -> Lower<Value> {
        if !dtype.is_int() {
            return Ok(value);
        }
        let Some(whole) = value.whole() else {
            return match value {
                Value::Scalar(scalar) if scalar.dtype() != dtype => {
                    self.as_number(at, Value::Scalar(scalar), dtype).map(Value::Scalar)
                }
                other => Ok(other),
            };
        };
        match whole.dtype {
            Some(own) if own == dtype => Ok(whole.into_value()),
            Some(own) => {
                let message = format!("expected `{dtype}`, found a number of type `{own}`");
                let error = self.error(&codes::DTYPE_MISMATCH, at, message);
                Err(self.report(error.help(format!("`cast(…, {dtype})` converts"))))
            }
            None => {
                self.fitting(at, &whole, dtype)?;
                let fits = match width(dtype) {
                    Some(width) => width.bits == 64 || self.facts.fits(&whole.value, width),
                    None => self.facts.range(&whole.value).0.is_some_and(|low| low >= 0),
                };
                if !fits {
                    let message = format!("found the integer `{}`, which may not fit `{dtype}`", whole.value);
                    let error = self.error(&codes::DTYPE_MISMATCH, at, message);
                    let help = format!("`cast(…, {dtype})` wraps it; a `where` clause can state its range");
                    return Err(self.report(error.help(help)));
                }
                Ok(Value::Scalar(Scalar::Integer { value: whole.value, dtype }))
            }
        }
    }

    /// Converts like [`Lowering::number_as`] if the written type `ty` is a number type.
    pub(crate) fn number_of_type(&mut self, at: ExprId, value: Value, ty: TypeRefId) -> Lower<Value> {
        let store = self.store();
        if let (hx_hir::TypeRef::Tuple(types), Value::Tuple(parts)) = (&store[ty], &value)
            && types.len() == parts.len()
        {
            let parts = parts.iter().zip(types).map(|(part, ty)| self.number_of_type(at, part.clone(), *ty));
            return Ok(Value::Tuple(parts.collect::<Lower<_>>()?));
        }
        if matches!(&store[ty], hx_hir::TypeRef::Named { shape: None, .. })
            && let Some(dtype) = self.element_type(ty)
        {
            return self.number_as(at, value, dtype);
        }
        Ok(value)
    }

    /// Converts a whole number of any type to an integer that expressions can mention; returns any other value unchanged.
    pub(crate) fn as_integer(&mut self, at: ExprId, value: Value) -> Lower<Value> {
        match value.widened() {
            Value::Scalar(scalar) if width(scalar.dtype()).is_some() => {
                let dtype = scalar.dtype();
                let symbol = self.output.new_var("number".into());
                self.output.push(Stmt::Leaf(Leaf::LetNumber { var: symbol.clone(), value: scalar }));
                Ok(self.number_of(&symbol, dtype).widened())
            }
            Value::Scalar(scalar) if scalar.dtype() == DType::U64 => {
                let message = "expected an `i64` or a narrower integer, found a number of type `u64`";
                let error = self.error(&codes::TYPE_MISMATCH, at, message);
                Err(self.report(error.help("`cast(…, i64)` converts")))
            }
            other => Ok(other),
        }
    }
}

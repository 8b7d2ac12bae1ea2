//! `where` between literals: a choice for each element whose type its use decides, as that of a literal.

use std::sync::Arc;

use hx_dtype::{DType, Operator};
use hx_hir::ExprId;
use hx_tile::Scalar;

use crate::elementwise::{Operand, condition, renumber};
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Choice, Lazy, Value};
use crate::variable::UNTYPED;

/// Reports whether a value has no type of its own, as a literal or a choice between literals.
fn adapts(value: &Value) -> bool {
    match value {
        Value::Int(x) => x.as_const().is_some(),
        Value::Float(_) | Value::Choice(_) => true,
        _ => false,
    }
}

impl Lowering<'_> {
    /// Returns the choice between two literals; `None` if an operand has a type, which the result then has.
    pub(crate) fn choice(
        &mut self,
        (c_at, cond): &Operand,
        [(_, x), (_, y)]: &[Operand; 2],
    ) -> Lower<Option<Value>> {
        if !adapts(x) || !adapts(y) {
            return Ok(None);
        }
        let cond = match self.lazy_operand(*c_at, cond.clone())? {
            Value::Lazy(lazy) if lazy.value.dtype() == DType::Bool => lazy,
            Value::Scalar(scalar) if scalar.dtype() == DType::Bool => {
                Lazy { shape: Vec::new(), inputs: Vec::new(), value: scalar }
            }
            Value::Bool(cond) => Lazy { shape: Vec::new(), inputs: Vec::new(), value: condition(&cond) },
            _ => return Ok(None),
        };
        Ok(Some(Value::Choice(Arc::new(Choice { cond, then: x.clone(), otherwise: y.clone() }))))
    }

    /// Returns the choice as an expression of elements of type `wanted`. Messages name the operand `other` as the one with this
    /// type.
    pub(crate) fn typed_choice(
        &mut self,
        at: ExprId,
        choice: &Choice,
        wanted: DType,
        other: ExprId,
    ) -> Lower<Lazy> {
        let x = self.typed_operand(at, choice.then.clone(), wanted, other)?;
        let y = self.typed_operand(at, choice.otherwise.clone(), wanted, other)?;
        let mut inputs = Vec::new();
        let args: Vec<Scalar> =
            [&choice.cond, &x, &y].into_iter().map(|part| renumber(part, &mut inputs)).collect();
        let mut shape = choice.cond.shape.clone();
        for part in [x, y].into_iter().filter(|part| !part.shape.is_empty()) {
            shape = if shape.is_empty() {
                part.shape
            } else {
                shape.iter().zip(&part.shape).map(|(a, b)| *a.max(b)).collect()
            };
        }
        Ok(Lazy { shape, inputs, value: Scalar::apply(Operator::Select, wanted, args) })
    }

    /// Lowers `cast(where(c, x, y), T)` of literals. If one of them is written as a float and `T` is no float, both are `f32`
    /// before the cast.
    pub(crate) fn cast_choice(&mut self, at: ExprId, choice: &Choice, to: DType) -> Lower<Value> {
        let is_float = choice.is_float() && !to.is_float();
        let chosen = self.typed_choice(at, choice, if is_float { UNTYPED } else { to }, at)?;
        Ok(Self::cast_lazy(Value::Lazy(chosen), to))
    }

    /// Returns the choice with a condition that later statements do not change.
    pub(crate) fn kept_choice(&mut self, at: ExprId, choice: Arc<Choice>) -> Value {
        if choice.cond.inputs.is_empty() {
            return Value::Choice(choice);
        }
        let held = self.materialize(at, choice.cond.clone(), Some("chosen"));
        let Some((id, shape)) = self.register_of(&held) else { return Value::Error };
        let cond = Lazy { shape, inputs: vec![id], value: Scalar::Input { index: 0, dtype: DType::Bool } };
        let both = [&choice.then, &choice.otherwise].map(|part| match part {
            Value::Choice(inner) => self.kept_choice(at, inner.clone()),
            literal => literal.clone(),
        });
        let [then, otherwise] = both;
        Value::Choice(Arc::new(Choice { cond, then, otherwise }))
    }
}

//! Layout values: literals with their labels, the functions of the algebra, and conversions to and from its values.
//!
//! All computation is in `hx-layout`.

use hx_hir::{Arg, Builtin, Expr, ExprId, GenericArg, Need};
use hx_layout::expr::{self as algebra, Value as Algebra};

use super::args::Args;
use super::{EvalResult, Frame};
use crate::error::{HostError, HostResult};
use crate::value::Value;

/// Calls a function of the algebra. The table of built-in names has its parameters, and `hx-layout` knows it by its name.
///
/// # Errors
/// If an argument is missing or is no part of a layout, or the algebra refuses the call.
pub(super) fn function(builtin: Builtin, args: &mut Args) -> HostResult<Value> {
    let mut values = Vec::new();
    for param in builtin.params().unwrap_or_default() {
        match param.need {
            Need::Required => values.push(to_algebra(&args.required(param.name)?)?),
            Need::Optional => values.extend(args.optional(param.name).map(|v| to_algebra(&v)).transpose()?),
            Need::Named => values.extend(args.named(param.name).map(|v| to_algebra(&v)).transpose()?),
            Need::Rest => values.extend(args.rest().iter().map(to_algebra).collect::<HostResult<Vec<_>>>()?),
        }
    }
    from_algebra(algebra::call(builtin.name(), &values).map_err(HostError::ty)?)
}

/// Evaluates `a ∘ b`.
///
/// # Errors
/// If an operand is no layout, or the two do not compose.
pub(super) fn compose(a: &Value, b: &Value) -> HostResult<Value> {
    from_algebra(algebra::compose(&to_algebra(a)?, &to_algebra(b)?).map_err(HostError::ty)?)
}

/// Reports whether two layouts are the same function.
///
/// # Errors
/// If the algebra cannot decide it.
pub(super) fn equal(a: &Algebra, b: &Algebra) -> HostResult<bool> {
    algebra::equal(a, b).map_err(HostError::ty)
}

/// Evaluates a field of a layout: `shape`, `stride`, `size`, `cosize` or `rank`.
///
/// # Errors
/// If this kind of layout has no such field.
pub(super) fn field(layout: &Algebra, name: &str) -> HostResult<Value> {
    from_algebra(algebra::call(name, std::slice::from_ref(layout)).map_err(HostError::ty)?)
}

/// Converts a host value to a value of the algebra: an integer, `_`, a tuple, a text or a layout.
///
/// # Errors
/// If it is another value.
fn to_algebra(value: &Value) -> HostResult<Algebra> {
    Ok(match value {
        Value::Int(i) => Algebra::Int(*i),
        Value::Wildcard => Algebra::Keep,
        Value::Tuple(parts) | Value::List(parts) => {
            Algebra::List(parts.iter().map(|part| Ok((None, to_algebra(part)?))).collect::<HostResult<_>>()?)
        }
        Value::Layout(layout) => (**layout).clone(),
        Value::Str(text) => Algebra::Text(text.to_string()),
        other => return Err(HostError::ty(format!("{} is not part of a layout", other.kind()))),
    })
}

fn from_algebra(value: Algebra) -> HostResult<Value> {
    Ok(match value {
        Algebra::Int(i) => Value::Int(i),
        Algebra::Bool(b) => Value::Bool(b),
        Algebra::Keep => Value::Wildcard,
        Algebra::List(parts) => {
            Value::Tuple(parts.into_iter().map(|(_, part)| from_algebra(part)).collect::<HostResult<_>>()?)
        }
        Algebra::Text(text) => Value::Str(text.into()),
        layout => Value::Layout(Box::new(layout)),
    })
}

impl Frame<'_, '_> {
    /// Evaluates `(warp: 4, lane: 8) : (32, 1)`.
    ///
    /// # Errors
    /// If shape and stride do not fit together, or cannot be evaluated.
    pub(super) fn layout(&mut self, id: ExprId, shape: ExprId, stride: ExprId) -> EvalResult<Value> {
        let (shape, stride) = (self.labeled(shape)?, self.labeled(stride)?);
        let made = algebra::layout(&shape, &stride).map_err(HostError::ty).and_then(from_algebra);
        self.at(id, made)
    }

    /// Evaluates `linear((lane: [1, 2], register: [4]), (index: 8))`. The labels of its arguments name the dimensions.
    ///
    /// # Errors
    /// If an argument cannot be evaluated, or the arguments make no linear layout.
    pub(super) fn linear(&mut self, id: ExprId, args: &[Arg]) -> EvalResult<Value> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            let value = self.labeled(arg.value)?;
            match &arg.name {
                Some(name) if name == "l" => values.insert(0, value),
                _ => values.push(value),
            }
        }
        let made = algebra::call("linear", &values).map_err(HostError::ty).and_then(from_algebra);
        self.at(id, made)
    }

    /// Evaluates a tuple and keeps the labels of its entries; any other expression has none.
    ///
    /// # Errors
    /// If a part cannot be evaluated, or is no part of a layout.
    fn labeled(&mut self, id: ExprId) -> EvalResult<Algebra> {
        let body = self.body;
        if let Expr::Tuple(fields) = &body.store[id] {
            let mut parts = Vec::with_capacity(fields.len());
            for field in fields {
                parts.push((field.label.as_ref().map(ToString::to_string), self.labeled(field.value)?));
            }
            return Ok(Algebra::List(parts));
        }
        let value = self.expr(id)?;
        self.at(id, to_algebra(&value))
    }

    /// Evaluates `swizzle<3, 3, 3>`.
    ///
    /// # Errors
    /// If an argument is no integer, or the numbers make no swizzle.
    pub(super) fn swizzle(&mut self, id: ExprId, generics: &[GenericArg]) -> EvalResult<Value> {
        let mut numbers = Vec::with_capacity(generics.len());
        for generic in generics {
            let value = self.int(generic.value)?;
            numbers.push(Algebra::Int(value));
        }
        let made = algebra::call("swizzle", &numbers).map_err(HostError::ty).and_then(from_algebra);
        self.at(id, made)
    }

    /// Evaluates `l(i)` and `l((i, j))`: applies a layout to a coordinate.
    ///
    /// # Errors
    /// If the coordinate does not fit the layout.
    pub(super) fn apply(&mut self, id: ExprId, layout: &Algebra, args: &[ExprId]) -> EvalResult<Value> {
        let mut coord = Vec::with_capacity(args.len());
        for arg in args {
            let value = self.expr(*arg)?;
            coord.push(self.at(*arg, to_algebra(&value))?);
        }
        let value = algebra::apply(layout, &coord).map_err(HostError::ty).and_then(from_algebra);
        self.at(id, value)
    }
}

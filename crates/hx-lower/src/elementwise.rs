//! Elementwise expressions. Each is a tree over register tensors that is kept until an operation needs a tensor.
//!
//! For that reason `a * b + c` is one operation without intermediate tensors. A literal takes the element type of the other
//! operand; two different element types are an error.

use hx_base::codes;
use hx_dtype::{Class, DType, Operator};
use hx_hir::{CmpOp, ExprId};
use hx_index::{CmpOp as IndexCmp, Cond, Expr};
use hx_tile::{Leaf, Map, OpKind, Scalar, Stmt, TensorId};

use crate::bit_operator::on_bits;
use crate::error::Lower;
use crate::lowering::{Lowering, shape_text};
use crate::value::{Lazy, Tensor, Value};

fn lazy_shape(lazy: &Lazy) -> String {
    shape_text(&lazy.shape.iter().map(|&e| Expr::constant(e)).collect::<Vec<_>>())
}

const BEYOND: &str = "`inf` is infinity, and `cast(x, T)` rounds to what the type has";

/// An operand with the expression that it comes from.
pub(crate) type Operand = (ExprId, Value);

/// Reports whether arithmetic on this value is elementwise rather than integer arithmetic.
pub(crate) fn is_elementwise(value: &Value) -> bool {
    matches!(value, Value::Tensor(_) | Value::Lazy(_) | Value::Scalar(_) | Value::Choice(_))
}

/// Returns the operator for a comparison, and whether its operands must be swapped.
pub(crate) fn comparison(op: CmpOp) -> (Operator, bool) {
    match op {
        CmpOp::Eq => (Operator::Eq, false),
        CmpOp::Ne => (Operator::Ne, false),
        CmpOp::Lt => (Operator::Lt, false),
        CmpOp::Le => (Operator::Le, false),
        CmpOp::Gt => (Operator::Lt, true),
        CmpOp::Ge => (Operator::Le, true),
    }
}

impl Lowering<'_> {
    /// Applies an operator to operands, at least one of which is a tensor or a run-time number.
    pub(crate) fn apply(&mut self, id: ExprId, operator: Operator, operands: Vec<Operand>) -> Lower<Value> {
        let operands = self.with_count(id, operator, operands)?;
        if let Some(whole) = self.whole_apply(id, operator, &operands)? {
            return Ok(whole);
        }
        // The condition of `where` does not take part in the common element type.
        let typed = usize::from(operator == Operator::Select);
        let is_whole = operands[typed..].iter().all(|(_, value)| matches!(value, Value::Int(_)));
        let mut parts = Vec::with_capacity(operands.len());
        for (at, value) in operands {
            parts.push((at, self.lazy_operand(at, value)?));
        }
        let known = parts[typed..].iter().find_map(|(at, v)| Some((*at, dtype_of(v)?)));
        let Some((first, dtype)) = known else {
            let error = self
                .error(
                    &codes::TYPE_MISMATCH,
                    id,
                    "expected an operand that fixes the element type, found numbers only",
                )
                .help(format!("`cast(…, {})` fixes it", if is_whole { "i32" } else { "f32" }));
            return Err(self.report(error));
        };
        self.check_operator(id, operator, dtype)?;
        if matches!(operator, Operator::Div | Operator::Rem)
            && let Some((at, _)) = parts.get(1).filter(|(_, value)| dtype.is_int() && is_zero(value))
        {
            return self.fail(&codes::CONSTANT_ERROR, *at, "division by zero");
        }
        let mut shape: Option<(ExprId, Lazy)> = None;
        let mut inputs: Vec<TensorId> = Vec::new();
        let mut args = Vec::with_capacity(parts.len());
        for (i, (at, value)) in parts.into_iter().enumerate() {
            let wanted = if i < typed { DType::Bool } else { dtype };
            let lazy = self.typed_operand(at, value, wanted, first)?;
            args.push(renumber(&lazy, &mut inputs));
            if lazy.shape.is_empty() {
                continue;
            }
            shape = Some(match shape {
                None => (at, lazy),
                Some((other, known)) => self.joined(id, (other, known), (at, lazy))?,
            });
        }
        let value = folded(Scalar::apply(operator, dtype, args));
        Ok(match shape {
            Some((_, Lazy { shape, .. })) => Value::Lazy(Lazy { shape, inputs, value }),
            None => Value::Scalar(value),
        })
    }

    fn check_operator(&mut self, id: ExprId, operator: Operator, dtype: DType) -> Lower<()> {
        use Operator::*;
        let on_bits = on_bits(operator).is_some();
        let fits = match dtype.class() {
            Class::Bool => matches!(operator, Not | And | Or | Xor | Select | Eq | Ne),
            // A scale has no sign and no zero, so most results are none: they are computed in another type.
            Class::Float if dtype.is_scale() => {
                matches!(operator, Select | Lt | Le | Eq | Ne | IsNan | Min | Max)
            }
            Class::Float => operator != Not && !on_bits && !operator.is_of_words(),
            Class::Int if operator.is_of_words() => dtype.bits() >= 32,
            Class::Int => !matches!(operator, Not | Floor | Ceil | Round) && !operator.is_transcendental(),
        };
        if fits {
            return Ok(());
        }
        let name = operator.name();
        let message = format!("found elements of type `{dtype}`, for which `{name}` has no meaning");
        let error = self.error(&codes::NO_SUCH_OPERATION, id, message);
        let help = match operator {
            Xor if dtype.is_float() => {
                Some("a power is written `pow(x, y)`; `bitcast(x, u32)` gives the bits")
            }
            Not if dtype.is_int() => Some("`~` inverts the bits of integers"),
            _ if on_bits && dtype.is_float() => Some("`bitcast(x, u32)` gives the bits of an `f32`"),
            _ if operator.is_of_words() => {
                Some("it takes integers of 32 or 64 bits: `cast(…, u32)` converts")
            }
            _ if dtype.is_int() || dtype.is_scale() => Some("`cast(…, f32)` converts element by element"),
            _ => None,
        };
        let error = match help {
            Some(help) => error.help(help),
            None => error,
        };
        Err(self.report(error))
    }

    /// Broadcasts two operands to a common shape: in each dimension the extents must be equal, or one of them is 1.
    pub(crate) fn joined(
        &mut self,
        id: ExprId,
        (x_at, x): (ExprId, Lazy),
        (y_at, y): (ExprId, Lazy),
    ) -> Lower<(ExprId, Lazy)> {
        let fits = |(a, b): (&i64, &i64)| a == b || *a == 1 || *b == 1;
        if x.shape.len() != y.shape.len() || !x.shape.iter().zip(&y.shape).all(fits) {
            let (a, b) = (lazy_shape(&x), lazy_shape(&y));
            let error = self
                .error(
                    &codes::SHAPE_MISMATCH,
                    id,
                    format!("found the shapes `{a}` and `{b}`, expected equal extents or 1"),
                )
                .also(self.place(x_at), format!("this has the shape `{a}`"))
                .also(self.place(y_at), format!("this has the shape `{b}`"));
            return Err(self.report(error));
        }
        let shape = x.shape.iter().zip(&y.shape).map(|(a, b)| *a.max(b)).collect();
        Ok((x_at, Lazy { shape, ..x }))
    }

    /// Wraps a register tensor as an elementwise expression; returns any other value unchanged.
    pub(crate) fn lazy_operand(&mut self, at: ExprId, value: Value) -> Lower<Value> {
        let Value::Tensor(t) = value else { return Ok(value) };
        if !t.is_register() {
            let message =
                format!("found a {} tensor, expected a register one for an elementwise operation", t.space());
            let error =
                self.error(&codes::WRONG_MEMORY, at, message).help("`load(…)` moves a tile into registers");
            return Err(self.report(error));
        }
        let (id, t) = self.settled(at, &t, None)?;
        let shape = self.output.tensor(id).shape.clone();
        Ok(Value::Lazy(Lazy { shape, inputs: vec![id], value: Scalar::Input { index: 0, dtype: t.dtype } }))
    }

    /// Converts an operand to an expression of the type `wanted`. Its shape is empty if all elements have the same value.
    pub(crate) fn typed_operand(
        &mut self,
        at: ExprId,
        value: Value,
        wanted: DType,
        other: ExprId,
    ) -> Lower<Lazy> {
        let uniform = |value| Lazy { shape: Vec::new(), inputs: Vec::new(), value };
        let found = match value {
            Value::Lazy(lazy) if lazy.value.dtype() == wanted => return Ok(lazy),
            Value::Choice(choice) => return self.typed_choice(at, &choice, wanted, other),
            Value::Scalar(scalar) if scalar.dtype() == wanted => return Ok(uniform(scalar)),
            Value::Lazy(lazy) => lazy.value.dtype(),
            Value::Scalar(scalar) => scalar.dtype(),
            Value::Bool(cond) if wanted == DType::Bool => return Ok(uniform(condition(&cond))),
            Value::Float(x) if wanted.is_float() => {
                return self.float_operand(at, x, wanted).map(uniform);
            }
            Value::Float(x) => return self.out_of_range(at, x, wanted),
            Value::Int(x) if wanted.is_int() => return self.integer_operand(at, x, wanted).map(uniform),
            Value::Int(x) if wanted.is_float() => match x.as_const() {
                Some(x) => return self.float_operand(at, x as f64, wanted).map(uniform),
                None => DType::I64,
            },
            other => {
                let message = format!("expected elements of type `{wanted}`, found {}", other.what());
                return self.fail(&codes::TYPE_MISMATCH, at, message);
            }
        };
        self.bad_dtype(at, found, other, wanted)
    }

    fn float_operand(&mut self, at: ExprId, x: f64, dtype: DType) -> Lower<Scalar> {
        if dtype.holds(x) { Ok(Scalar::constant(x, dtype)) } else { self.out_of_range(at, x, dtype) }
    }

    /// Reports a number outside the range of the type, which rounding cannot bring into it.
    pub(crate) fn out_of_range<T>(&mut self, at: ExprId, x: f64, dtype: DType) -> Lower<T> {
        let message = format!("found `{x:?}`, which `{dtype}` cannot hold");
        let error = self.error(&codes::LITERAL_OUT_OF_RANGE, at, message);
        Err(self.report(match dtype.is_float() {
            true if dtype.is_scale() => {
                error.help(format!("it has powers of two alone, and `cast(x, {dtype})` rounds up to one"))
            }
            true => error.help(BEYOND),
            false => error,
        }))
    }

    pub(crate) fn integer_operand(&mut self, at: ExprId, value: Expr, dtype: DType) -> Lower<Scalar> {
        let bits = dtype.bits();
        let (low, high) = match dtype.is_signed_int() {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        match value.as_const() {
            Some(x) if !(low..=high).contains(&i128::from(x)) => {
                self.fail(&codes::LITERAL_OUT_OF_RANGE, at, format!("found {x}, which `{dtype}` cannot hold"))
            }
            _ => Ok(Scalar::Integer { value, dtype }),
        }
    }

    /// Converts every element, or a run-time number, to another type; returns any other value unchanged.
    pub(crate) fn cast_lazy(value: Value, to: DType) -> Value {
        match value {
            Value::Lazy(lazy) => Value::Lazy(Lazy { value: lazy.value.cast(to), ..lazy }),
            Value::Scalar(scalar) => Value::Scalar(scalar.cast(to)),
            other => other,
        }
    }

    /// Converts a run-time integer to a number of another type.
    pub(crate) fn cast_integer(&self, value: Expr, to: DType) -> Value {
        let small = |x: Option<i64>| x.is_some_and(|x| i32::try_from(x).is_ok());
        let (low, high) = self.facts.range(&value);
        let dtype = if small(low) && small(high) { DType::I32 } else { DType::I64 };
        Value::Scalar(Scalar::Integer { value, dtype }.cast(to))
    }

    /// Evaluates `index(t, axis)`: the coordinate of each element along `axis`.
    pub(crate) fn coordinates(&mut self, t: ExprId, axis: ExprId) -> Lower<Value> {
        let shape = match self.eval(t)? {
            Value::Lazy(lazy) => lazy.shape,
            Value::Tensor(tensor) => {
                let extents: Option<Vec<i64>> = tensor.shape().iter().map(Expr::as_const).collect();
                match extents {
                    Some(shape) => shape,
                    None => {
                        return self.fail(
                            &codes::NOT_CONSTANT,
                            t,
                            "found extents that are known only at run time",
                        );
                    }
                }
            }
            other => {
                let message = format!("expected a tensor, found {}", other.what());
                return self.fail(&codes::TYPE_MISMATCH, t, message);
            }
        };
        let axis = self.axis(axis, shape.len())?;
        // Along an extent of 1 the coordinate is 0. It must stay 0 when broadcasting stretches that extent later.
        let value = match shape[axis] {
            1 => Scalar::Integer { value: Expr::default(), dtype: DType::I32 },
            _ => Scalar::Index { axis },
        };
        Ok(Value::Lazy(Lazy { shape, inputs: Vec::new(), value }))
    }

    /// Evaluates an axis and checks that it is below `rank`.
    pub(crate) fn axis(&mut self, id: ExprId, rank: usize) -> Lower<usize> {
        let axis = self.const_int(id, "the axis")?;
        match usize::try_from(axis).ok().filter(|a| *a < rank) {
            Some(axis) => Ok(axis),
            None => {
                let message = format!("found the axis {axis}, expected one below {rank}");
                self.fail(&codes::INDEX_OUT_OF_RANGE, id, message)
            }
        }
    }

    /// Stores the expression in a new register tensor.
    pub(crate) fn materialize(&mut self, at: ExprId, lazy: Lazy, hint: Option<&str>) -> Tensor {
        let dtype = lazy.value.dtype();
        let (dst, tensor) = self.new_register(hint.unwrap_or("value"), dtype, lazy.shape, at);
        self.emit(OpKind::Map(Map { dst, inputs: lazy.inputs, value: lazy.value }), at);
        tensor
    }

    /// Writes the expression to every element of an existing register tensor.
    pub(crate) fn assign_lazy(&mut self, place: ExprId, dst: &Tensor, at: ExprId, value: Value) -> Lower<()> {
        let lazy = match value {
            Value::Lazy(lazy) => lazy,
            // The number is assigned to all elements.
            scalar => {
                let value = self.typed_operand(at, scalar, dst.dtype, place)?;
                let Some((_, shape)) = self.register_of(dst) else {
                    return self.unsupported(place, "this assignment");
                };
                Lazy { shape, ..value }
            }
        };
        if lazy.value.dtype() != dst.dtype {
            return self.bad_dtype(at, lazy.value.dtype(), place, dst.dtype);
        }
        match (self.whole_register(dst), self.register_of(dst)) {
            (Some(id), Some((_, shape))) if shape == lazy.shape => {
                self.emit(OpKind::Map(Map { dst: id, inputs: lazy.inputs, value: lazy.value }), at);
                Ok(())
            }
            _ => {
                let made = self.materialize(at, lazy, None);
                self.copy_values(at, at, &made, place, dst)
            }
        }
    }

    /// Returns the position in the current block, to be passed to [`Lowering::unwritten`] later.
    pub(crate) fn mark(&self) -> usize {
        self.output.statements().len()
    }

    /// Refuses a value if a statement emitted after `mark` writes one of its tensors. An unevaluated expression refers to its
    /// tensors, so a write before its use would change the result.
    pub(crate) fn unwritten(&mut self, at: ExprId, value: &Value, mark: usize) -> Lower<()> {
        let held: Vec<TensorId> = match value {
            Value::Lazy(lazy) => lazy.inputs.clone(),
            Value::Choice(choice) => choice.cond.inputs.clone(),
            Value::Tensor(t) => self.register_of(t).map(|(id, _)| id).into_iter().collect(),
            _ => return Ok(()),
        };
        let later = self.output.statements().get(mark..).unwrap_or_default();
        if held.iter().any(|id| writes(later, *id)) {
            return self.unsupported(at, "an expression that changes a tensor which it also reads");
        }
        Ok(())
    }
}

fn writes(stmts: &[Stmt], id: TensorId) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::Leaf(Leaf::Op(op)) => op.kind.writes(id),
        control => control.bodies().any(|body| writes(body, id)),
    })
}

/// Evaluates an operator whose arguments are all constants; returns any other expression unchanged.
fn folded(value: Scalar) -> Scalar {
    let Scalar::Apply { operator, dtype, args } = &value else { return value };
    let bits: Option<Vec<u64>> = args
        .iter()
        .map(|a| match a {
            Scalar::Const { bits, .. } => Some(*bits),
            _ => None,
        })
        .collect();
    match bits {
        Some(bits) => Scalar::Const { bits: operator.eval(*dtype, &bits), dtype: operator.result(*dtype) },
        None => value,
    }
}

/// Reports whether a number is known to be 0.
fn is_zero(value: &Value) -> bool {
    value.whole().is_some_and(|whole| whole.value.is_zero())
        || matches!(value, Value::Scalar(Scalar::Const { bits: 0, .. }))
}

/// Returns the element type that an operand fixes. Literal numbers, choices between them and untyped integers fix none.
pub(crate) fn dtype_of(value: &Value) -> Option<DType> {
    match value {
        Value::Tensor(t) => Some(t.dtype),
        Value::Lazy(lazy) => Some(lazy.value.dtype()),
        Value::Scalar(scalar) => Some(scalar.dtype()),
        Value::Bool(_) => Some(DType::Bool),
        _ => None,
    }
}

/// Renumbers the inputs of the expression so that they index the common list `inputs`, which grows as needed.
pub(crate) fn renumber(lazy: &Lazy, inputs: &mut Vec<TensorId>) -> Scalar {
    lazy.value.map_leaves(&mut |leaf| match leaf {
        Scalar::Input { index, dtype } => {
            let id = lazy.inputs.get(*index as usize)?;
            let index = inputs.iter().position(|i| i == id).unwrap_or_else(|| {
                inputs.push(*id);
                inputs.len() - 1
            });
            Some(Scalar::Input { index: index as u32, dtype: *dtype })
        }
        _ => None,
    })
}

/// Converts a condition on block-uniform integers to a truth value for each element.
pub(crate) fn condition(cond: &Cond) -> Scalar {
    let integer = |x: &Expr| Scalar::Integer { value: x.clone(), dtype: DType::I64 };
    let all = |conds: &[Cond], operator| {
        let mut parts = conds.iter().map(condition);
        let first = parts.next().unwrap_or_else(|| condition(&Cond::True));
        parts.fold(first, |a, b| Scalar::apply(operator, DType::Bool, [a, b]))
    };
    match cond {
        Cond::True => Scalar::Const { bits: 1, dtype: DType::Bool },
        Cond::False => Scalar::Const { bits: 0, dtype: DType::Bool },
        Cond::Cmp(op, a, b) => {
            let operator = match op {
                IndexCmp::Lt => Operator::Lt,
                IndexCmp::Le => Operator::Le,
                IndexCmp::Eq => Operator::Eq,
                IndexCmp::Ne => Operator::Ne,
            };
            Scalar::apply(operator, DType::I64, [integer(a), integer(b)])
        }
        Cond::And(conds) => all(conds, Operator::And),
        Cond::Or(conds) => all(conds, Operator::Or),
    }
}

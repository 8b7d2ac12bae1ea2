//! Operators, fields and indices on values.

use hx_hir::{ArithOp, BinaryOp, CmpOp, ExprId, LogicOp, UnaryOp};

use super::{EvalResult, Frame, bits};
use crate::arith::{self, Binary, Unary};
use crate::bits::needs_integers;
use crate::dense::show_shape;
use crate::error::{HostError, HostResult};
use crate::index::Index;
use crate::matmul::matmul;
use crate::recipe::Each;
use crate::tensor::Tensor;
use crate::value::Value;

impl Frame<'_, '_> {
    pub(super) fn binary(&mut self, id: ExprId, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> EvalResult<Value> {
        let left = self.expr(lhs)?;
        // A bool on the left may decide the result alone. A tensor of bools never does, so the right side is always evaluated.
        if let (BinaryOp::Logic(logic), Value::Bool(left)) = (op, &left)
            && *left == (logic == LogicOp::Or)
        {
            return Ok(Value::Bool(*left));
        }
        let right = self.expr(rhs)?;
        self.at(id, binary(op, &left, &right))
    }
}

/// Evaluates `a op b`.
///
/// # Errors
/// If the operator does not take such values, and as for [`arith::binary`].
pub(super) fn binary(op: BinaryOp, a: &Value, b: &Value) -> HostResult<Value> {
    let elementwise = |op: Binary| {
        let (x, y) = operands(op.symbol(), a, b)?;
        arith::binary(op, &x, &y).map(Value::from_dense)
    };
    match op {
        BinaryOp::Cmp(cmp) => match equality(cmp, a, b) {
            Some(result) => result,
            None => elementwise(comparison(cmp)),
        },
        BinaryOp::Arith(ArithOp::Add) => match (a, b) {
            (Value::Str(x), Value::Str(y)) => Value::joined(x, y),
            (Value::Str(_), other) | (other, Value::Str(_)) => {
                Err(HostError::ty(format!("`+` cannot join a string and {}", other.kind()))
                    .help("`print` shows several values, separated by spaces"))
            }
            (Value::Tuple(x), Value::Tuple(y)) => Value::compound([&**x, y].concat(), Value::Tuple),
            _ => elementwise(Binary::Add),
        },
        BinaryOp::Arith(ArithOp::Sub) => elementwise(Binary::Sub),
        BinaryOp::Arith(ArithOp::Mul) => match scaled(a, b) {
            Some(later) => Ok(later),
            None => elementwise(Binary::Mul),
        },
        BinaryOp::Arith(ArithOp::Div) => elementwise(Binary::Div),
        BinaryOp::Arith(ArithOp::Rem) => elementwise(Binary::Rem),
        BinaryOp::Arith(ArithOp::MatMul) => {
            let (x, y) = operands("@", a, b)?;
            matmul(&x, &y).map(Value::from_dense)
        }
        BinaryOp::Arith(ArithOp::BitAnd) => elementwise(Binary::BitAnd),
        BinaryOp::Arith(ArithOp::BitOr) => elementwise(Binary::BitOr),
        BinaryOp::Arith(ArithOp::BitXor) => elementwise(Binary::BitXor),
        BinaryOp::Arith(ArithOp::Shl) => elementwise(Binary::Shl),
        BinaryOp::Arith(ArithOp::Shr) => elementwise(Binary::Shr),
        BinaryOp::Compose => super::layouts::compose(a, b),
        BinaryOp::Logic(LogicOp::And) => elementwise(Binary::And),
        BinaryOp::Logic(LogicOp::Or) => elementwise(Binary::Or),
    }
}

/// Returns the tensor of `step` of each element, unmade like `x`. `None` if the elements of `x` are made, or the step needs them.
pub(super) fn each(x: &Value, step: Each) -> Option<Value> {
    let Value::Tensor(x) = x else { return None };
    x.own_recipe()?.then(step).map(|recipe| Value::Tensor(Tensor::from_recipe(recipe)))
}

/// Returns the product of a tensor of unmade floats and a number, unmade too.
fn scaled(a: &Value, b: &Value) -> Option<Value> {
    match (a, b) {
        (x @ Value::Tensor(_), factor @ (Value::Float(_) | Value::Int(_)))
        | (factor @ (Value::Float(_) | Value::Int(_)), x @ Value::Tensor(_)) => {
            each(x, Each::Scale(factor.float().ok()?))
        }
        _ => None,
    }
}

fn operands(op: &str, a: &Value, b: &Value) -> HostResult<(crate::Dense, crate::Dense)> {
    let not_numbers = |_| HostError::ty(format!("`{op}` is not defined on {} and {}", a.kind(), b.kind()));
    let numeric =
        |v: &Value| matches!(v, Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Tensor(_));
    if !numeric(a) && !numeric(b) {
        return Err(not_numbers(()));
    }
    // A list next to a number or tensor is converted to a tensor, as in NumPy.
    let convert = |v: &Value| match v {
        Value::Tensor(t) => t.dense(),
        Value::List(_) => v.dense(),
        v if numeric(v) => v.dense(),
        _ => Err(not_numbers(())),
    };
    Ok((convert(a)?, convert(b)?))
}

fn comparison(op: CmpOp) -> Binary {
    match op {
        CmpOp::Eq => Binary::Eq,
        CmpOp::Ne => Binary::Ne,
        CmpOp::Lt => Binary::Lt,
        CmpOp::Le => Binary::Le,
        CmpOp::Gt => Binary::Gt,
        CmpOp::Ge => Binary::Ge,
    }
}

/// Evaluates `==` and `!=` of values as a whole. `None` for other comparisons, for two numbers and for tensors, which are
/// compared elementwise.
fn equality(op: CmpOp, a: &Value, b: &Value) -> Option<HostResult<Value>> {
    let tensor = |v: &Value| matches!(v, Value::Tensor(_));
    if tensor(a) || tensor(b) || !matches!(op, CmpOp::Eq | CmpOp::Ne) {
        return None;
    }
    let number = |v: &Value| matches!(v, Value::Bool(_) | Value::Int(_) | Value::Float(_));
    if number(a) && number(b) {
        return None;
    }
    Some(same(a, b).map(|equal| Value::Bool(equal == (op == CmpOp::Eq))))
}

/// Reports whether two values are equal as a whole. Numbers and tensors are compared by shape and elements.
///
/// # Errors
/// If values of these kinds cannot be compared, such as a string and a layout.
pub(super) fn same(a: &Value, b: &Value) -> HostResult<bool> {
    Ok(match (a, b) {
        (Value::Unit, Value::Unit) | (Value::Auto, Value::Auto) | (Value::Wildcard, Value::Wildcard) => true,
        (Value::Str(x), Value::Str(y)) => **x == **y,
        (Value::DType(x), Value::DType(y)) => x == y,
        (Value::Function(x), Value::Function(y)) => x == y,
        (Value::Range(a, b), Value::Range(c, d)) => (a, b) == (c, d),
        (Value::Layout(x), Value::Layout(y)) => super::layouts::equal(x, y)?,
        (Value::Tuple(x) | Value::List(x), Value::Tuple(y) | Value::List(y)) => {
            x.len() == y.len() && {
                let all: HostResult<Vec<bool>> = x.iter().zip(y.iter()).map(|(x, y)| same(x, y)).collect();
                all?.into_iter().all(|equal| equal)
            }
        }
        (Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Tensor(_), _) => {
            match (a.tensor(), b.tensor()) {
                (Ok(x), Ok(y)) => x.shape() == y.shape() && crate::compare::assert_equal(&x, &y).is_ok(),
                _ => false,
            }
        }
        _ => return Err(HostError::ty(format!("{} and {} cannot be compared", a.kind(), b.kind()))),
    })
}

pub(super) fn unary(op: UnaryOp, value: &Value) -> HostResult<Value> {
    let unary = match op {
        UnaryOp::Neg => Unary::Neg,
        UnaryOp::Not => Unary::Not,
        UnaryOp::BitNot if matches!(value, Value::Bool(_) | Value::Int(_) | Value::Tensor(_)) => {
            return bits::not(value);
        }
        UnaryOp::BitNot => return Err(needs_integers("~")),
    };
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Tensor(_) => {
            arith::unary(unary, &value.dense()?).map(Value::from_dense)
        }
        other => Err(HostError::ty(format!("`{}` is not defined on {}", op.text(), other.kind()))),
    }
}

/// The fields of a tensor, each with a description.
pub const TENSOR_FIELDS: [(&str, &str); 5] = [
    ("T", "the last two modes swapped"),
    ("shape", "the extents"),
    ("dtype", "the element type"),
    ("rank", "the number of modes"),
    ("size", "the number of elements"),
];

/// The fields of a layout, each with a description.
pub const LAYOUT_FIELDS: [(&str, &str); 5] = [
    ("shape", "the extents"),
    ("stride", "the steps of the index"),
    ("size", "the number of coordinates"),
    ("cosize", "one more than the largest index"),
    ("rank", "the number of modes"),
];

/// Evaluates `base.name` for a tensor, a layout or a file of tensors.
///
/// # Errors
/// If the value has no such field.
pub(super) fn field(base: &Value, name: &str) -> HostResult<Value> {
    let ints = |dims: &[usize]| Value::Tuple(dims.iter().map(|&d| Value::Int(d as i64)).collect());
    match (base, name) {
        (Value::Tensor(t), "T") => t.transposed().map(Value::Tensor),
        (Value::Tensor(t), "shape") => Ok(ints(t.shape())),
        (Value::Tensor(t), "dtype") => Ok(Value::DType(t.dtype())),
        (Value::Tensor(t), "rank") => Ok(Value::Int(t.shape().len() as i64)),
        (Value::Tensor(t), "size") => Ok(Value::Int(t.len() as i64)),
        (Value::Tensor(_), _) => Err(HostError::ty(format!("a tensor has no field `{name}`"))
            .help("it has `T`, `shape`, `dtype`, `rank` and `size`")),
        (Value::Layout(layout), "shape" | "stride" | "size" | "cosize" | "rank") => {
            super::layouts::field(layout, name)
        }
        (Value::Archive(file), "names") => {
            Ok(Value::List(file.names().iter().map(|name| Value::Str(name.as_str().into())).collect()))
        }
        (other, _) => Err(HostError::ty(format!("{} has no field `{name}`", other.kind()))),
    }
}

/// Evaluates `base[indices]` for a tensor, a list or a tuple.
///
/// # Errors
/// If an index lies outside, or the value does not take such indices.
pub(super) fn index(base: &Value, indices: &[Index]) -> HostResult<Value> {
    match (base, indices) {
        (Value::Tensor(t), _) => t.index(indices).map(Value::from_view),
        (Value::List(values) | Value::Tuple(values), [Index::At(i)]) => {
            let count = values.len();
            let at = if *i < 0 { i.checked_add_unsigned(count as u64) } else { Some(*i) };
            let found = at.and_then(|i| usize::try_from(i).ok()).and_then(|i| values.get(i));
            found
                .cloned()
                .ok_or_else(|| HostError::index(format!("index {i} lies outside of {}", base.kind())))
        }
        (Value::List(values), [Index::Range(start, end)]) => {
            let count = values.len() as i64;
            let (start, end) = (start.unwrap_or(0), end.unwrap_or(count));
            let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
            let part = range.and_then(|(s, e)| values.get(s..e));
            let part = part.ok_or_else(|| {
                HostError::index(format!("the range {start}..{end} lies outside of {}", base.kind()))
            })?;
            Value::compound(part.to_vec(), Value::List)
        }
        (Value::List(_) | Value::Tuple(_), _) => {
            Err(HostError::index(format!("{} takes one index, and has {}", base.kind(), indices.len())))
        }
        (Value::Int(_) | Value::Float(_) | Value::Bool(_), _) => {
            Err(HostError::ty(format!("{} cannot be indexed: its shape is {}", base.kind(), show_shape(&[]))))
        }
        (other, _) => Err(HostError::ty(format!("{} cannot be indexed", other.kind()))),
    }
}

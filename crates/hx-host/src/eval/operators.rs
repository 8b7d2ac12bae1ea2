//! Operators, fields and indices on values.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hx_hir::{ArithOp, BinaryOp, CmpOp, ExprId, LogicOp, UnaryOp};

use super::{EvalResult, Frame};
use crate::arith::{self, Binary, Unary};
use crate::dense::show_shape;
use crate::error::{HostError, HostResult};
use crate::index::Index;
use crate::matmul::matmul;
use crate::memory::claim;
use crate::value::Value;

/// Products of tensors with fewer pairs of elements than this take no time worth stopping in.
const SHORT: usize = 1 << 24;
/// How often a product looks whether it should stop.
const POLL: Duration = Duration::from_millis(10);

impl Frame<'_, '_> {
    pub(super) fn binary(&mut self, id: ExprId, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> EvalResult<Value> {
        let left = self.expr(lhs)?;
        // Of one bool the right side may not matter; of the masks of tensors it always does.
        if let (BinaryOp::Logic(logic), Value::Bool(left)) = (op, &left)
            && *left == (logic == LogicOp::Or)
        {
            return Ok(Value::Bool(*left));
        }
        let right = self.expr(rhs)?;
        if op == BinaryOp::Arith(ArithOp::MatMul) {
            return self.product(id, &left, &right);
        }
        self.at(id, binary(op, &left, &right))
    }

    /// `a @ b`, which takes long enough to be stopped on the way.
    fn product(&mut self, id: ExprId, a: &Value, b: &Value) -> EvalResult<Value> {
        let (x, y) = self.at(id, operands("@", a, b))?;
        let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
        if x.data.len().saturating_mul(y.data.len()) < SHORT {
            return self.at(id, matmul(&x, &y, &stop).map(Value::from_dense));
        }
        let here = std::thread::current();
        let product = std::thread::scope(|scope| {
            let working = scope.spawn(|| {
                let product = matmul(&x, &y, &stop);
                done.store(true, Ordering::Release);
                here.unpark();
                product
            });
            while !done.load(Ordering::Acquire) && !working.is_finished() {
                if self.session.surroundings.stopped() {
                    stop.store(true, Ordering::Relaxed);
                }
                std::thread::park_timeout(POLL);
            }
            working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        self.poll(id)?;
        self.at(id, product.map(Value::from_dense))
    }
}

/// `a op b`.
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
            (Value::Str(x), Value::Str(y)) => {
                claim(x.len().checked_add(y.len()), || "a string".to_owned())?;
                Ok(Value::Str(format!("{x}{y}")))
            }
            (Value::Str(_), other) | (other, Value::Str(_)) => {
                Err(HostError::ty(format!("`+` cannot join a string and {}", other.kind()))
                    .help("`print` shows several values, separated by spaces"))
            }
            (Value::Tuple(x), Value::Tuple(y)) => Ok(Value::Tuple([x.as_slice(), y].concat())),
            _ => elementwise(Binary::Add),
        },
        BinaryOp::Arith(ArithOp::Sub) => elementwise(Binary::Sub),
        BinaryOp::Arith(ArithOp::Mul) => elementwise(Binary::Mul),
        BinaryOp::Arith(ArithOp::Div) => elementwise(Binary::Div),
        BinaryOp::Arith(ArithOp::Rem) => elementwise(Binary::Rem),
        BinaryOp::Arith(ArithOp::MatMul) => {
            let (x, y) = operands("@", a, b)?;
            matmul(&x, &y, &AtomicBool::new(false)).map(Value::from_dense)
        }
        BinaryOp::Compose => super::layouts::compose(a, b),
        BinaryOp::Logic(LogicOp::And) => elementwise(Binary::And),
        BinaryOp::Logic(LogicOp::Or) => elementwise(Binary::Or),
    }
}

fn operands(op: &str, a: &Value, b: &Value) -> HostResult<(crate::Dense, crate::Dense)> {
    let not_numbers = |_| HostError::ty(format!("`{op}` is not defined on {} and {}", a.kind(), b.kind()));
    let numeric =
        |v: &Value| matches!(v, Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Tensor(_));
    if !numeric(a) && !numeric(b) {
        return Err(not_numbers(()));
    }
    // A list next to a number or tensor is a tensor itself, as in NumPy.
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

/// `==` and `!=` of values that are no numbers; nothing where the elementwise comparison is meant.
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

/// Whether two values are equal as a whole; tensors by shape and elements.
pub(super) fn same(a: &Value, b: &Value) -> HostResult<bool> {
    Ok(match (a, b) {
        (Value::Unit, Value::Unit) | (Value::Auto, Value::Auto) | (Value::Wildcard, Value::Wildcard) => true,
        (Value::Str(x), Value::Str(y)) => x == y,
        (Value::DType(x), Value::DType(y)) => x == y,
        (Value::Range(a, b), Value::Range(c, d)) => (a, b) == (c, d),
        (Value::Layout(x), Value::Layout(y)) => super::layouts::equal(x, y)?,
        (Value::Tuple(x) | Value::List(x), Value::Tuple(y) | Value::List(y)) => {
            x.len() == y.len() && {
                let all: HostResult<Vec<bool>> = x.iter().zip(y).map(|(x, y)| same(x, y)).collect();
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
    let (unary, symbol) = match op {
        UnaryOp::Neg => (Unary::Neg, "-"),
        UnaryOp::Not => (Unary::Not, "!"),
    };
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Tensor(_) => {
            arith::unary(unary, &value.dense()?).map(Value::from_dense)
        }
        other => Err(HostError::ty(format!("`{symbol}` is not defined on {}", other.kind()))),
    }
}

/// What a tensor answers to behind a dot without a call, each with what it is.
pub const TENSOR_FIELDS: [(&str, &str); 5] = [
    ("T", "the last two modes swapped"),
    ("shape", "the extents"),
    ("dtype", "the element type"),
    ("rank", "the number of modes"),
    ("size", "the number of elements"),
];

/// The same for a layout.
pub const LAYOUT_FIELDS: [(&str, &str); 5] = [
    ("shape", "the extents"),
    ("stride", "the steps of the index"),
    ("size", "the number of coordinates"),
    ("cosize", "one more than the largest index"),
    ("rank", "the number of modes"),
];

/// `base.name`.
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
            Ok(Value::List(file.names().iter().cloned().map(Value::Str).collect()))
        }
        (other, _) => Err(HostError::ty(format!("{} has no field `{name}`", other.kind()))),
    }
}

/// `base[indices]`.
pub(super) fn index(base: &Value, indices: &[Index]) -> HostResult<Value> {
    match (base, indices) {
        (Value::Tensor(t), _) => t.index(indices).and_then(Value::from_view),
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
            part.map(|v| Value::List(v.to_vec())).ok_or_else(|| {
                HostError::index(format!("the range {start}..{end} lies outside of {}", base.kind()))
            })
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

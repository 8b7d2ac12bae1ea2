//! Closures, and the host functions that take one: `reduce` and `scan` along an axis.
//!
//! An operator is called on whole slices and works on them element by element, like the host's arithmetic.

use std::sync::Arc;

use hx_hir::{ExprId, HostFn, PatId, Sound};

use super::args::Args;
use super::{BodyPart, EvalError, EvalResult, Frame, Session};
use crate::error::{HostError, HostResult};
use crate::index::Index;
use crate::reduce::axis_of;
use crate::tensor::Tensor;
use crate::value::{Closure, Value};

impl Frame<'_, '_> {
    pub(super) fn closure(&self, params: &[PatId], body: ExprId) -> Value {
        let (key, locals) = (self.key.clone(), self.locals.clone());
        Value::Closure(Arc::new(Closure { key, params: params.to_vec(), body, locals }))
    }
}

impl Session<'_> {
    /// Calls a closure with these arguments.
    ///
    /// # Errors
    /// If their number is wrong, or the closure's body fails. The error has its place in the closure.
    pub(super) fn apply(&mut self, closure: &Closure, args: Vec<Value>) -> EvalResult<Value> {
        let db = self.db;
        let gone = |what: String| EvalError {
            item: closure.key.clone(),
            at: BodyPart::Expr(closure.body),
            error: Box::new(HostError::call(what)),
            found: Vec::new(),
        };
        let Some(item) = closure.key.find(db).and_then(|item| Sound::of(db, item)) else {
            return Err(gone("the text of this closure is gone".to_owned()));
        };
        if args.len() != closure.params.len() {
            let (given, wanted) = (args.len(), closure.params.len());
            let s = if wanted == 1 { "" } else { "s" };
            return Err(gone(format!("this closure takes {wanted} value{s}, and is called with {given}")));
        }
        let mut frame = Frame {
            item,
            key: closure.key.clone(),
            body: item.body(db),
            names: item.names(db),
            locals: closure.locals.clone(),
            session: self,
        };
        for (pat, value) in closure.params.iter().zip(args) {
            frame.bind(*pat, value)?;
        }
        frame.expr(closure.body)
    }
}

/// The arguments of a call of `reduce` or `scan`.
struct Along {
    /// The tensors that are combined together.
    tensors: Vec<Tensor>,
    /// Whether they were given as a tuple. The operator then takes and returns tuples.
    tuple: bool,
    axis: usize,
    extent: usize,
    op: Arc<Closure>,
    /// Whether the last slice comes first.
    reverse: bool,
}

impl Along {
    fn new(args: &mut Args) -> HostResult<Along> {
        let (t, axis, op) = (args.required("t")?, args.required("axis")?.int()?, args.required("op")?);
        let Value::Closure(op) = op else {
            let error = HostError::ty(format!("found {}, an operator is needed", op.kind()));
            return Err(error.help("write it as a closure: `op: |a, b| a + b`"));
        };
        let (tensors, tuple) = match &t {
            Value::Tuple(parts) => (parts.iter().map(Value::tensor).collect::<HostResult<Vec<_>>>()?, true),
            one => (vec![one.tensor()?], false),
        };
        let Some(first) = tensors.first() else {
            return Err(HostError::ty("an empty tuple has nothing to combine"));
        };
        if let Some(odd) = tensors.iter().find(|t| t.shape() != first.shape()) {
            let (a, b) = (Value::Tensor(first.clone()).brief(), Value::Tensor(odd.clone()).brief());
            return Err(HostError::shape(format!("tensors that move together have one shape: {a} and {b}")));
        }
        let axis = axis_of(axis, first.shape().len())?;
        let extent = first.shape()[axis];
        let reverse = match args.named("reverse") {
            None => false,
            Some(Value::Bool(reverse)) => reverse,
            Some(other) => {
                return Err(HostError::ty(format!("`reverse:` is a bool, found {}", other.kind())));
            }
        };
        Ok(Along { tensors, tuple, axis, extent, op, reverse })
    }

    /// Returns a slice by its position in the order of the scan, from 0: a tuple of slices if the tensors were given as a tuple.
    ///
    /// # Errors
    /// If the position is outside of the axis.
    fn slice(&self, at: usize) -> HostResult<Value> {
        let at = if self.reverse { (self.extent - 1).wrapping_sub(at) } else { at };
        let mut indices = vec![Index::Range(None, None); self.axis];
        indices.push(Index::At(at as i64));
        let slice = |t: &Tensor| t.index(&indices).map(Value::from_view);
        if self.tuple {
            return self.tensors.iter().map(slice).collect::<HostResult<_>>().map(Value::Tuple);
        }
        slice(&self.tensors[0])
    }

    /// Joins slices along the axis.
    ///
    /// # Errors
    /// If their shapes differ, or one is no tuple with as many parts as there are tensors, if these were given as a tuple.
    fn stack(&self, slices: Vec<Value>) -> HostResult<Value> {
        let one = |slices: Vec<Value>| {
            let stacked = Tensor::from_dense(Value::List(slices.into()).dense()?);
            let rank = stacked.shape().len();
            // Stacking puts the new dimension first; the permutation moves it to the axis.
            let mut order: Vec<usize> = (1..rank).collect();
            order.insert(self.axis.min(order.len()), 0);
            Ok(Value::Tensor(Tensor::from_host(stacked.permute(&order)?.to_host())))
        };
        if !self.tuple {
            return one(slices);
        }
        let part = |i: usize| {
            let of = |slice: &Value| match slice {
                Value::Tuple(parts) if parts.len() == self.tensors.len() => Ok(parts[i].clone()),
                other => Err(HostError::ty(format!(
                    "the operator gives {}, a tuple of {} is needed",
                    other.kind(),
                    self.tensors.len()
                ))),
            };
            one(slices.iter().map(of).collect::<HostResult<_>>()?)
        };
        (0..self.tensors.len()).map(part).collect::<HostResult<_>>().map(Value::Tuple)
    }
}

/// Evaluates `reduce(t, axis: 1, op: |a, b| …)`, which removes the axis, or `scan`, which keeps it and returns every prefix.
///
/// # Errors
/// If the arguments do not fit, the axis has no elements, or the operator fails.
pub(super) fn along(session: &mut Session<'_>, function: HostFn, args: &mut Args) -> Result<Value, Failure> {
    let (name, keeps) = (function.name(), function == HostFn::Scan);
    let along = Along::new(args)?;
    args.finish()?;
    if along.extent == 0 {
        return Err(HostError::shape(format!("`{name}` along an axis without elements has no value")).into());
    }
    let mut sum = along.slice(0)?;
    let mut prefixes = vec![sum.clone()];
    for at in 1..along.extent {
        sum = session.apply(&along.op, vec![sum, along.slice(at)?])?;
        if keeps {
            prefixes.push(sum.clone());
        }
    }
    if along.reverse {
        prefixes.reverse();
    }
    Ok(if keeps { along.stack(prefixes)? } else { sum })
}

/// An error of the call itself, or one inside the closure, which has a place of its own.
pub(super) enum Failure {
    Call(HostError),
    Inside(Box<EvalError>),
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Failure {
        Failure::Call(error)
    }
}

impl From<EvalError> for Failure {
    fn from(error: EvalError) -> Failure {
        Failure::Inside(Box::new(error))
    }
}

//! Statements and patterns.

use hx_base::codes;
use hx_hir::{
    ArithOp, BinaryOp, Block, Expr, ExprId, Pat, PatId, Resolution, StmtId, StmtKind, TypeRef, TypeRefId,
};

use super::{BodyPart, EvalError, EvalResult, Frame, operators};
use crate::dense::show_shape;
use crate::error::HostError;
use crate::index::Index;
use crate::tensor::{Tensor, held_int};
use crate::value::Value;

impl Frame<'_, '_> {
    pub(super) fn block(&mut self, id: ExprId, block: &Block) -> EvalResult<Value> {
        for stmt in &block.stmts {
            self.stmt(id, *stmt)?;
        }
        block.tail.map_or(Ok(Value::Unit), |tail| self.expr(tail))
    }

    /// Reports a whole number that the type stated for it cannot hold. A type of a tuple states those of its parts.
    fn held(&self, at: ExprId, value: &Value, ty: TypeRefId) -> EvalResult<()> {
        match (&self.body.store[ty], value) {
            (TypeRef::Tuple(types), Value::Tuple(parts)) => {
                types.iter().zip(parts.iter()).try_for_each(|(ty, part)| self.held(at, part, *ty))
            }
            (TypeRef::Named { .. }, Value::Int(x)) => match self.names.types.get(ty) {
                Some(Resolution::DType(dtype)) if dtype.is_int() => {
                    self.at(at, held_int(*dtype, *x)).map(drop)
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn stmt(&mut self, block: ExprId, id: StmtId) -> EvalResult<()> {
        let body = self.body;
        match &body.store[id].kind {
            StmtKind::Let { pat, ty, value } => {
                let at = *value;
                let value = self.expr(at)?;
                if let Some(ty) = ty {
                    self.held(at, &value, *ty)?;
                }
                self.bind(*pat, value)
            }
            StmtKind::Assign { place, op, value } => self.assign(*place, *op, *value),
            StmtKind::Expr(expr) => self.expr(*expr).map(drop),
            StmtKind::For { pat, iterable, body, .. } => self.for_loop(*pat, *iterable, *body),
            StmtKind::While { condition, body } => {
                while self.condition(*condition)? {
                    self.expr(*body)?;
                }
                Ok(())
            }
            StmtKind::WarpGroups(_) => {
                Err(self.fail(block, HostError::unsupported("`warp_groups` belongs into a kernel")))
            }
            StmtKind::Measure { quantities, body } => self.measure(quantities, *body),
            StmtKind::Baseline(call) => self.baseline(*call),
        }
    }

    fn for_loop(&mut self, pat: PatId, iterable: ExprId, body: ExprId) -> EvalResult<()> {
        match self.expr(iterable)? {
            Value::Range(start, end) => {
                for i in start..end {
                    self.round(pat, Value::Int(i), body)?;
                }
            }
            Value::List(values) | Value::Tuple(values) => {
                for value in values.iter() {
                    self.round(pat, value.clone(), body)?;
                }
            }
            Value::Archive(file) => {
                for name in file.names() {
                    let tensor = self.at(iterable, file.tensor(name))?;
                    let name = Value::Str(name.as_str().into());
                    let pair = vec![name, Value::Tensor(Tensor::from_host(tensor))];
                    self.round(pat, Value::Tuple(pair.into()), body)?;
                }
            }
            Value::Tensor(t) if !t.shape().is_empty() => {
                for i in 0..t.shape()[0] {
                    let row = t.index(&[Index::At(i as i64)]).map(Value::from_view);
                    let row = self.at(iterable, row)?;
                    self.round(pat, row, body)?;
                }
            }
            other => {
                let error =
                    HostError::ty(format!("found {}, a range, a list or a tensor is needed", other.kind()));
                return Err(self.fail(iterable, error));
            }
        }
        Ok(())
    }

    fn round(&mut self, pat: PatId, value: Value, body: ExprId) -> EvalResult<()> {
        self.bind(pat, value.clone())?;
        self.expr(body).map(drop).map_err(|mut error| {
            let mut bound = Vec::new();
            self.numbers(pat, &value, &mut bound);
            if error.error.code == &codes::ASSERTION_FAILED && !bound.is_empty() {
                error.error.notes.push(format!("in the iteration {}", bound.join(", ")));
            }
            error
        })
    }

    /// Appends the names that a pattern binds with their values, as in `i = 16`. Tensors are left out.
    fn numbers(&self, pat: PatId, value: &Value, out: &mut Vec<String>) {
        match (&self.body.store[pat], value) {
            (Pat::Bind(_), Value::Tensor(_)) => {}
            (Pat::Bind(name), value) => out.push(format!("{name} = {}", value.brief())),
            (Pat::Tuple(parts) | Pat::Array(parts), Value::Tuple(values) | Value::List(values)) => {
                parts.iter().zip(values.iter()).for_each(|(pat, value)| self.numbers(*pat, value, out));
            }
            (Pat::Missing | Pat::Wildcard | Pat::Tuple(_) | Pat::Array(_), _) => {}
        }
    }

    /// Binds the names of a pattern to their values.
    ///
    /// # Errors
    /// If a pattern takes apart a value that has another number of parts or none.
    pub(super) fn bind(&mut self, pat: PatId, value: Value) -> EvalResult<()> {
        let body = self.body;
        match &body.store[pat] {
            Pat::Missing | Pat::Wildcard => Ok(()),
            Pat::Bind(_) => {
                self.locals.insert(pat, value);
                Ok(())
            }
            Pat::Tuple(parts) | Pat::Array(parts) => match value {
                Value::Tuple(values) | Value::List(values) if values.len() == parts.len() => {
                    parts.iter().zip(values.iter()).try_for_each(|(p, v)| self.bind(*p, v.clone()))
                }
                other => {
                    let count = parts.len();
                    let error = HostError::ty(format!(
                        "found {}, the pattern takes apart {count} values",
                        other.kind()
                    ));
                    Err(EvalError {
                        item: self.key.clone(),
                        at: BodyPart::Pat(pat),
                        error: Box::new(error),
                        found: Vec::new(),
                    })
                }
            },
        }
    }

    /// Evaluates `x = e`, which assigns to a variable, and `x[i] = e`, which writes into a tensor; with `op` it is `x += e` and
    /// the like.
    ///
    /// # Errors
    /// If `x` is neither a variable nor a part of a tensor, or the value does not fit it.
    fn assign(&mut self, place: ExprId, op: Option<ArithOp>, value: ExprId) -> EvalResult<()> {
        let body = self.body;
        let mut new = self.expr(value)?;
        if let Some(op) = op {
            let old = self.expr(place)?;
            new = self.at(place, operators::binary(BinaryOp::Arith(op), &old, &new))?;
        }
        match &body.store[place] {
            Expr::Path { .. } => match self.names.exprs.get(place) {
                Some(Resolution::Local(pat)) => {
                    self.locals.insert(*pat, new);
                    Ok(())
                }
                Some(Resolution::Binding(name)) => {
                    if let Some(environment) = &mut self.session.environment {
                        environment.values.insert(name.clone(), new);
                    }
                    Ok(())
                }
                _ => Err(self.fail(place, HostError::ty("only variables and parts of tensors are assigned"))),
            },
            Expr::Index { base, args } => {
                let target = self.expr(*base)?;
                let indices = self.indices(args)?;
                let Value::Tensor(tensor) = target else {
                    let error =
                        HostError::ty(format!("found {}, only parts of tensors are assigned", target.kind()));
                    return Err(self.fail(*base, error));
                };
                let part = self.at(place, tensor.index(&indices))?;
                let dense = self.at(value, new.dense())?;
                self.session.ledger.overwritten(&part);
                self.at(
                    value,
                    part.assign(&dense).map_err(|e| {
                        e.note(format!("the part that is written has shape {}", show_shape(part.shape())))
                    }),
                )
            }
            _ => Err(self.fail(place, HostError::ty("only variables and parts of tensors are assigned"))),
        }
    }
}

//! Scans, and reductions by any operator.

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::{Expr as HirExpr, ExprId};
use hx_index::Expr;
use hx_tile::{OpKind, Scalar, TensorId, ViewMode};

use crate::builtin_call::BuiltinCall;
use crate::carried::{carried, carrier};
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::slice::{is_let, operand};
use crate::value::{Tensor, Value};

/// The operands of a scan: register tensors of one shape.
struct Operands {
    ids: Vec<TensorId>,
    dtypes: Vec<DType>,
    shape: Vec<i64>,
    /// Whether the operands were given as a tuple.
    tuple: bool,
}

impl Lowering<'_> {
    /// Lowers `scan(t, axis, op, reverse: …)`.
    pub(crate) fn scan(&mut self, call: &BuiltinCall<'_, '_>) -> Lower<Value> {
        let (id, [t, axis, op]) = (call.id, self.first(call)?);
        let operands = self.scan_operands(t, "a scan")?;
        let axis = self.axis(axis, operands.shape.len())?;
        let reverse = match call.slot(3) {
            Some(reverse) => self.const_bool(reverse, "`reverse`")?,
            None => false,
        };
        let hint = call.hint.unwrap_or("scanned");
        let results =
            self.scanned(id, &operands, (axis, reverse), op, hint)?.into_iter().zip(&operands.dtypes);
        let narrowed = results.map(|(found, dtype)| self.narrowed_elements(found, *dtype, hint, id).1);
        Ok(bundled(narrowed.map(Value::Tensor).collect(), operands.tuple))
    }

    /// Lowers `reduce(t, axis, op)` for an operator that is not built in: the last element of a scan.
    pub(crate) fn reduce_by(
        &mut self,
        id: ExprId,
        t: ExprId,
        axis: ExprId,
        op: ExprId,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let operands = self.scan_operands(t, "a reduction")?;
        let axis = self.axis(axis, operands.shape.len())?;
        let scanned = self.scanned(id, &operands, (axis, false), op, "scanned")?;
        let mut results = Vec::new();
        for ((src, tensor), dtype) in scanned.into_iter().zip(&operands.dtypes) {
            let mut view = self.whole(src);
            view.offsets[axis] = Expr::constant(operands.shape[axis] - 1);
            view.modes[axis] = ViewMode { extent: 1, dim: axis, factor: Expr::constant(1) };
            let hint = hint.unwrap_or("reduced");
            let own = if tensor.dtype == *dtype { hint } else { "reduced" };
            let (dst, result) = self.new_register(own, tensor.dtype, view.shape(), id);
            self.emit(OpKind::Slice { dst, src: view }, id);
            results.push(Value::Tensor(self.narrowed_elements((dst, result), *dtype, hint, id).1));
        }
        Ok(bundled(results, operands.tuple))
    }

    fn scan_operands(&mut self, t: ExprId, what: &str) -> Lower<Operands> {
        let value = self.eval(t)?;
        let (parts, tuple) = match value {
            Value::Tuple(parts) if !parts.is_empty() => (parts, true),
            single => ([single].into(), false),
        };
        let exprs = self.element_exprs(t);
        let mut found = Operands { ids: vec![], dtypes: vec![], shape: vec![], tuple };
        for (i, part) in parts.iter().cloned().enumerate() {
            let at = exprs.get(i).copied().filter(|_| tuple).unwrap_or(t);
            let tensor = match part {
                Value::Tensor(tensor) if tensor.is_register() => tensor,
                Value::Lazy(lazy) => self.materialize(at, lazy, None),
                Value::Tensor(tensor) => {
                    let message =
                        format!("found a {} tensor, expected a register one for {what}", tensor.space());
                    let error = self
                        .error(&codes::WRONG_MEMORY, at, message)
                        .help("`load(…)` moves a tile into registers");
                    return Err(self.report(error));
                }
                other => {
                    let message = format!("expected a register tensor for {what}, found {}", other.what());
                    return self.fail(&codes::TYPE_MISMATCH, at, message);
                }
            };
            let (id, _) = self.settled(at, &tensor, None)?;
            let shape = self.output.tensor(id).shape.clone();
            if i > 0 && shape != found.shape {
                let message =
                    format!("expected `{:?}` as of the first, found the shape `{shape:?}`", found.shape);
                return self.fail(&codes::SHAPE_MISMATCH, at, message);
            }
            found.shape = shape;
            found.ids.push(id);
            found.dtypes.push(tensor.dtype);
        }
        Ok(found)
    }

    /// Scans the operands. The results have their elements in their carrier.
    fn scanned(
        &mut self,
        id: ExprId,
        operands: &Operands,
        (axis, reverse): (usize, bool),
        op: ExprId,
        hint: &str,
    ) -> Lower<Vec<(TensorId, Tensor)>> {
        let op = carried(&self.operator_of(op, operands)?, &operands.dtypes);
        let src = operands.ids.iter().map(|src| self.widened_elements(*src, id)).collect();
        let result = |dtype: &DType| {
            let own = if carrier(*dtype) == *dtype { hint } else { "scanned" };
            self.new_register(own, carrier(*dtype), operands.shape.clone(), id)
        };
        let results: Vec<(TensorId, Tensor)> = operands.dtypes.iter().map(result).collect();
        let dst = results.iter().map(|(id, _)| *id).collect();
        self.emit(OpKind::Scan { dst, src, axis, op, reverse }, id);
        Ok(results)
    }

    /// Returns the components of the result of a two-operand closure, as expressions over the components of both operands.
    fn operator_of(&mut self, op: ExprId, operands: &Operands) -> Lower<Vec<Scalar>> {
        let store = self.store();
        let n = operands.dtypes.len();
        let like =
            if operands.tuple { "`|(a0, b0), (a1, b1)| (a0 * a1, b0 * a1 + b1)`" } else { "`|a, b| a + b`" };
        let HirExpr::Closure { params, body } = &store[op] else {
            return self.fail(&codes::TYPE_MISMATCH, op, format!("expected an operator, as in {like}"));
        };
        let &[before, after] = &params[..] else {
            return self.fail(
                &codes::TYPE_MISMATCH,
                op,
                format!("expected an operator of two operands, as in {like}"),
            );
        };
        for (pat, first) in [(before, 0), (after, n)] {
            let parts = operands.dtypes.iter().enumerate().map(|(i, dtype)| operand(first + i, *dtype));
            self.bind(pat, bundled(parts.collect(), operands.tuple))?;
        }
        if let HirExpr::Block(block) = &store[*body]
            && let Some(stmt) = block.stmts.iter().find(|s| !is_let(&store[**s].kind))
        {
            let mut at = *body;
            store.for_each_part(*stmt, &mut |part| at = part);
            return self.fail(
                &codes::TYPE_MISMATCH,
                at,
                "an operator computes a value and does nothing else",
            );
        }
        let mark = self.mark();
        let value = self.eval(*body)?;
        if self.mark() != mark {
            let error = self
                .error(
                    &codes::TYPE_MISMATCH,
                    *body,
                    "found an operator that depends on more than its operands and numbers of the block",
                )
                .help("choose with `where(condition, x, y)`");
            return Err(self.report(error));
        }
        let parts = match value {
            Value::Tuple(parts) | Value::Array(parts) if operands.tuple => parts,
            single => [single].into(),
        };
        if parts.len() != n {
            let message = format!("found {} values, expected {n} from the operator", parts.len());
            return self.fail(&codes::PATTERN_MISMATCH, *body, message);
        }
        let parts = parts.iter().cloned().zip(&operands.dtypes);
        parts.map(|(part, dtype)| self.component(*body, part, *dtype)).collect()
    }

    /// Returns a component of an operator's result as a number of type `dtype`.
    fn component(&mut self, body: ExprId, part: Value, dtype: DType) -> Lower<Scalar> {
        match part {
            Value::Int(x) if dtype.is_int() => self.integer_operand(body, x, dtype),
            part => self.as_number(body, part, dtype),
        }
    }
}

/// Returns the only value, or a tuple if there are several or the operands were a tuple.
fn bundled(mut parts: Vec<Value>, tuple: bool) -> Value {
    if !tuple && parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts.into()) }
}

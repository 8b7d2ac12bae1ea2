//! Scans, reductions by any operator, and atomic sums in global memory.

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::{Expr as HirExpr, ExprId};
use hx_index::Expr;
use hx_tile::{Base, OpKind, Scalar, TensorId, ViewMode};

use crate::cx::Cx;
use crate::error::Lower;
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

impl Cx<'_> {
    /// Lowers `scan(t, axis, op)`.
    pub(crate) fn scan(
        &mut self,
        id: ExprId,
        t: ExprId,
        axis: ExprId,
        op: ExprId,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let operands = self.scan_operands(t, "a scan")?;
        let axis = self.axis(axis, operands.shape.len())?;
        let results = self.scanned(id, &operands, axis, op, hint.unwrap_or("scanned"))?;
        Ok(bundled(results.into_iter().map(|(_, t)| Value::Tensor(t)).collect(), operands.tuple))
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
        let scanned = self.scanned(id, &operands, axis, op, "scanned")?;
        let mut results = Vec::new();
        for (src, tensor) in scanned {
            let mut view = self.whole(src);
            view.offsets[axis] = Expr::constant(operands.shape[axis] - 1);
            view.modes[axis] = ViewMode { extent: 1, dim: axis, factor: Expr::constant(1) };
            let (dst, result) = self.new_register(hint.unwrap_or("reduced"), tensor.dtype, view.shape(), id);
            self.emit(OpKind::Slice { dst, src: view }, id);
            results.push(Value::Tensor(result));
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
                        format!("found a {} tensor, wanted a register one for {what}", tensor.space());
                    let error = self
                        .error(&codes::WRONG_MEMORY, at, message)
                        .help("`load(…)` moves a tile into registers");
                    return Err(self.report(error));
                }
                other => {
                    let message = format!("found {}, wanted a register tensor for {what}", other.what());
                    return self.fail(&codes::TYPE_MISMATCH, at, message);
                }
            };
            let (id, _) = self.settled(at, &tensor, None)?;
            let shape = self.tensors[id.0 as usize].shape.clone();
            if i > 0 && shape != found.shape {
                let message =
                    format!("found the shape `{shape:?}`, wanted `{:?}` as of the first", found.shape);
                return self.fail(&codes::SHAPE_MISMATCH, at, message);
            }
            found.shape = shape;
            found.ids.push(id);
            found.dtypes.push(tensor.dtype);
        }
        Ok(found)
    }

    fn scanned(
        &mut self,
        id: ExprId,
        operands: &Operands,
        axis: usize,
        op: ExprId,
        hint: &str,
    ) -> Lower<Vec<(TensorId, Tensor)>> {
        let op = self.operator_of(op, operands)?;
        let results: Vec<(TensorId, Tensor)> = operands
            .dtypes
            .iter()
            .map(|dtype| self.new_register(hint, *dtype, operands.shape.clone(), id))
            .collect();
        let dst = results.iter().map(|(id, _)| *id).collect();
        self.emit(OpKind::Scan { dst, src: operands.ids.clone(), axis, op }, id);
        Ok(results)
    }

    /// Returns the components of the result of a two-operand closure, as expressions over the components of both operands.
    fn operator_of(&mut self, op: ExprId, operands: &Operands) -> Lower<Vec<Scalar>> {
        let store = self.store();
        let n = operands.dtypes.len();
        let like =
            if operands.tuple { "`|(a0, b0), (a1, b1)| (a0 * a1, b0 * a1 + b1)`" } else { "`|a, b| a + b`" };
        let HirExpr::Closure { params, body } = &store[op] else {
            return self.fail(&codes::TYPE_MISMATCH, op, format!("wanted an operator, as in {like}"));
        };
        let &[before, after] = &params[..] else {
            return self.fail(
                &codes::TYPE_MISMATCH,
                op,
                format!("wanted an operator of two operands, as in {like}"),
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
            let message = format!("found {} values, wanted {n} from the operator", parts.len());
            return self.fail(&codes::PATTERN_MISMATCH, *body, message);
        }
        let parts = parts.iter().cloned().zip(&operands.dtypes);
        parts.map(|(part, dtype)| self.component(*body, part, *dtype)).collect()
    }

    /// Returns a component of an operator's result.
    fn component(&mut self, body: ExprId, part: Value, dtype: DType) -> Lower<Scalar> {
        match part {
            Value::Int(x) if dtype.is_int() => self.integer_operand(body, x, dtype),
            part => self.as_number(body, part, dtype),
        }
    }

    /// Lowers `atomic_add(view, t)`.
    pub(crate) fn atomic_add(&mut self, id: ExprId, view: ExprId, t: ExprId) -> Lower<Value> {
        let value = self.eval(view)?;
        let to = self.want_global(view, value, "atomic_add")?;
        let from = self.tensor(t)?;
        self.want_mutable(view, &to)?;
        if from.dtype != to.dtype {
            return self.bad_dtype(t, from.dtype, view, to.dtype);
        }
        self.same_shape(id, (t, &from.shape()), (view, &to.shape()))?;
        if !from.is_register() {
            let message = format!("found a {} tensor, wanted a register one for `atomic_add`", from.space());
            let error =
                self.error(&codes::WRONG_MEMORY, t, message).help("`load(…)` moves a tile into registers");
            return Err(self.report(error));
        }
        self.want_addable(view, to.dtype)?;
        let dst = self.static_view(view, &to)?;
        let (src, dst) = if self.register_order(&from).is_some() {
            self.straighten(t, &from, view, &to)?
        } else {
            (self.settled(t, &from, None)?.0, dst)
        };
        self.emit(OpKind::AtomicAdd { src, dst }, id);
        Ok(Value::Unit)
    }

    /// Refuses types of elements that no device adds in memory.
    pub(crate) fn want_addable(&mut self, at: ExprId, dtype: DType) -> Lower<()> {
        use DType::{Bf16, F16, F32, F64, I32, I64, U32, U64};
        if matches!(dtype, F16 | Bf16 | F32 | F64 | I32 | U32 | U64 | I64) {
            return Ok(());
        }
        let message = format!("found elements of type `{dtype}`, which no device adds in memory");
        let error = self
            .error(&codes::NO_SUCH_OPERATION, at, message)
            .help("memory adds f16, bf16, f32, f64, i32, u32, i64 and u64");
        Err(self.report(error))
    }

    /// Returns the order of the modes if the view of a register tensor only reorders them.
    fn register_order(&self, t: &Tensor) -> Option<Vec<usize>> {
        let (_, shape) = self.register_of(t)?;
        t.view.as_permutation(&shape)
    }

    /// Lowers `gather(t, rows)`: a view of the global tensor `t` with the rows that the integer tensor `rows` picks.
    pub(crate) fn gather(&mut self, t: ExprId, rows: ExprId) -> Lower<Value> {
        let value = self.eval(t)?;
        let tensor = self.want_global(t, value, "gather")?;
        let table = self.tensor(rows)?;
        if table.is_register() {
            let message = "found a register tensor, wanted one in global or shared memory for the rows";
            return self.fail(&codes::WRONG_MEMORY, rows, message);
        }
        if !table.dtype.is_int()
            || !matches!(table.dtype.bits(), 8 | 16 | 32 | 64)
            || table.dtype == DType::U64
        {
            let message = format!("found elements of type `{}`, wanted integers that name rows", table.dtype);
            return self.fail(&codes::DTYPE_MISMATCH, rows, message);
        }
        let [mode] = &table.view.modes[..] else {
            let message =
                format!("found a tensor of rank {}, wanted 1 mode for the rows", table.view.modes.len());
            return self.fail(&codes::RANK_MISMATCH, rows, message);
        };
        if let Base::Global(p) = table.view.base
            && self.param_is_mutable(p)
        {
            let name = self.base_name(table.view.base).to_owned();
            let error = self
                .error(&codes::NOT_UNIFORM, rows, format!("`{name}` names rows, but the kernel may write it"))
                .help(format!("pass `{name}` without `mut`"));
            return Err(self.report(error));
        }
        let Some(first) = tensor.view.modes.first().cloned() else {
            return self.fail(&codes::RANK_MISMATCH, t, "found one element, wanted rows to gather");
        };
        let shape = self.base_shape(tensor.view.base);
        let alone = tensor.view.modes.iter().filter(|m| m.dim == first.dim).count() == 1;
        let whole = first.factor.as_const() == Some(1)
            && tensor.view.offsets.get(first.dim).is_some_and(Expr::is_zero)
            && shape.get(first.dim).is_some_and(|extent| self.same(extent, &first.extent));
        if tensor.view.rows.is_some() || !alone || !whole {
            let error = self
                .error(&codes::UNSUPPORTED, t, "rows of a part of a dimension cannot be gathered")
                .help("gather from all rows, and take the part of the other dimensions afterwards");
            return Err(self.report(error));
        }
        let mut view = tensor.view.clone();
        view.modes[0].extent = mode.extent.clone();
        view.rows = Some(Box::new(crate::value::SymRows {
            dim: first.dim,
            base: table.view.base,
            offsets: table.view.offsets.clone(),
            along: mode.dim,
            factor: mode.factor.clone(),
            extent: mode.extent.clone(),
        }));
        Ok(Value::Tensor(Tensor { mutable: false, ..tensor.with_view(view) }))
    }

    fn param_is_mutable(&self, p: hx_tile::ParamId) -> bool {
        matches!(self.params.get(p.0 as usize), Some(hx_tile::Param::Tensor(t)) if t.mutable)
    }
}

/// Returns the only value, or a tuple if there are several or the operands were a tuple.
fn bundled(mut parts: Vec<Value>, tuple: bool) -> Value {
    if !tuple && parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts.into()) }
}

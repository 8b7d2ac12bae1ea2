//! Views that index tensors pick: `gather` to read, `scatter` to write.

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::ExprId;
use hx_index::Expr;
use hx_tile::{Base, Map, OpKind, Pick, Picked, Rows, Scalar, TensorId};

use crate::builtin_call::BuiltinCall;
use crate::error::Lower;
use crate::lowering::{Lowering, shape_text};
use crate::value::{SymMode, SymView, Tensor, Value};

impl Lowering<'_> {
    /// Lowers `gather(t, rows)` or `scatter(t, rows)`. One index tensor in memory picks rows of a global tensor; index tensors in
    /// registers, one for each mode of `t`, pick single elements.
    pub(crate) fn picked_view(&mut self, call: &BuiltinCall<'_, '_>, scatters: bool) -> Lower<Value> {
        let [t, rows] = self.first(call)?;
        let value = self.eval(t)?;
        let mut indices = Vec::new();
        for at in call.slots.iter().skip(1).flatten() {
            indices.push((*at, self.tensor(*at)?));
        }
        let picked = if indices.len() > 1 || indices[0].1.is_register() {
            let tensor = self.want_memory(t, value, call.name)?;
            self.want_unpicked(t, &tensor)?;
            let view = self.elements(t, &tensor, &indices)?;
            tensor.with_view(view)
        } else {
            let tensor = self.want_global(t, value, call.name)?;
            let view = self.rows(t, &tensor, rows, &indices[0].1)?;
            tensor.with_view(view)
        };
        Ok(Value::Tensor(Tensor { mutable: scatters && picked.mutable, ..picked }))
    }

    /// Returns the view of the rows that a table in memory picks.
    fn rows(&mut self, t: ExprId, tensor: &Tensor, rows: ExprId, table: &Tensor) -> Lower<SymView> {
        self.want_index(rows, table.dtype, "rows")?;
        let [mode] = &table.view.modes[..] else {
            let message =
                format!("found a tensor of rank {}, expected 1 mode for the rows", table.view.modes.len());
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
            return self.fail(&codes::RANK_MISMATCH, t, "expected rows to gather, found one element");
        };
        let shape = self.base_shape(tensor.view.base);
        let alone = tensor.view.modes.iter().filter(|m| m.dim == first.dim).count() == 1;
        let whole = first.factor.as_const() == Some(1)
            && tensor.view.offsets.get(first.dim).is_some_and(Expr::is_zero)
            && shape.get(first.dim).is_some_and(|extent| self.same(extent, &first.extent));
        if tensor.view.picked.is_some() || !alone || !whole {
            let error = self
                .error(&codes::UNSUPPORTED, t, "rows of a part of a dimension cannot be gathered")
                .help("gather from all rows, and take the part of the other dimensions afterwards");
            return Err(self.report(error));
        }
        let mut view = tensor.view.clone();
        view.modes[0].extent = mode.extent.clone();
        view.picked = Some(Box::new(Picked::Rows(Rows {
            dim: first.dim,
            base: table.view.base,
            offsets: table.view.offsets.clone(),
            along: mode.dim,
            factor: mode.factor.clone(),
            extent: mode.extent.clone(),
            ends: table.view.ends.clone(),
        })));
        Ok(view)
    }

    /// Returns the view of the elements whose coordinates are in register tensors. The tensors broadcast to one shape.
    fn elements(&mut self, t: ExprId, tensor: &Tensor, indices: &[(ExprId, Tensor)]) -> Lower<SymView> {
        let modes = &tensor.view.modes;
        if indices.len() != modes.len() {
            let (found, wanted) = (indices.len(), modes.len());
            let s = if wanted == 1 { "" } else { "s" };
            let message = format!("found {found}, expected {wanted} index tensor{s} in registers");
            let label = format!("has the shape `{}`", shape_text(&tensor.shape()));
            let at = indices.last().map_or(t, |(at, _)| *at);
            let error = self.error(&codes::RANK_MISMATCH, at, message).also(self.place(t), label);
            return Err(self.report(error));
        }
        if let Some(mode) = modes.iter().find(|m| modes.iter().filter(|n| n.dim == m.dim).count() > 1) {
            let name = self.base_name(tensor.view.base).to_owned();
            let message = format!("two modes of the view walk dimension {} of `{name}`", mode.dim);
            let error = self
                .error(&codes::UNSUPPORTED, t, message)
                .help(format!("pick elements of `{name}` itself, and compute the index"));
            return Err(self.report(error));
        }
        let mut picks = Vec::new();
        for ((at, index), mode) in indices.iter().zip(modes) {
            let index = self.index_of_elements(*at, index)?;
            picks.push(Pick {
                dim: mode.dim,
                index,
                factor: mode.factor.clone(),
                extent: mode.extent.clone(),
            });
        }
        let Some(dim) = picks.first().map(|pick| pick.dim) else {
            return self.fail(&codes::RANK_MISMATCH, t, "expected elements to pick, found one element");
        };
        let shapes: Vec<Vec<i64>> = picks.iter().map(|p| self.output.tensor(p.index).shape.clone()).collect();
        let mut common = shapes[0].clone();
        for ((at, _), shape) in indices.iter().zip(&shapes) {
            let fits = |(a, b): (&i64, &i64)| a == b || *a == 1 || *b == 1;
            if shape.len() != common.len() || !shape.iter().zip(&common).all(fits) {
                let message =
                    format!("found the shape `{shape:?}`, expected extents of 1 or those of `{common:?}`");
                return self.fail(&codes::SHAPE_MISMATCH, *at, message);
            }
            common.iter_mut().zip(shape).for_each(|(extent, own)| *extent = (*extent).max(*own));
        }
        for ((pick, shape), (at, _)) in picks.iter_mut().zip(&shapes).zip(indices) {
            if *shape != common {
                pick.index = self.stretched_index(*at, pick.index, &common);
            }
        }
        let mode = |extent: &i64| SymMode { extent: Expr::constant(*extent), dim, factor: Expr::default() };
        let view = SymView { modes: common.iter().map(mode).collect(), ..tensor.view.clone() };
        Ok(SymView { picked: Some(Box::new(Picked::Elements(picks))), ..view })
    }

    /// Returns an index tensor in which every extent of 1 is stretched to that of `shape`.
    fn stretched_index(&mut self, at: ExprId, index: TensorId, shape: &[i64]) -> TensorId {
        let source = &self.output.tensor(index);
        let (name, dtype) = (format!("{}_wide", source.name), source.dtype);
        let (dst, _) = self.new_register(&name, dtype, shape.to_vec(), at);
        let value = Scalar::Input { index: 0, dtype };
        self.emit(OpKind::Map(Map { dst, inputs: vec![index], value }), at);
        dst
    }

    /// Returns the register tensor of an index.
    fn index_of_elements(&mut self, at: ExprId, index: &Tensor) -> Lower<TensorId> {
        if !index.is_register() {
            let message =
                format!("found a {} tensor, expected a register one that picks elements", index.space());
            let error =
                self.error(&codes::WRONG_MEMORY, at, message).help("`load(…)` moves a tile into registers");
            return Err(self.report(error));
        }
        self.want_index(at, index.dtype, "elements")?;
        Ok(self.settled(at, index, None)?.0)
    }

    fn want_index(&mut self, at: ExprId, dtype: DType, what: &str) -> Lower<()> {
        if dtype.is_int() && matches!(dtype.bits(), 8 | 16 | 32 | 64) && dtype != DType::U64 {
            return Ok(());
        }
        let message = format!("expected integers that name {what}, found elements of type `{dtype}`");
        self.fail(&codes::DTYPE_MISMATCH, at, message)
    }

    /// Refuses to cut or reorder a view whose elements index tensors pick.
    pub(crate) fn want_unpicked(&mut self, at: ExprId, t: &Tensor) -> Lower<()> {
        if !matches!(t.view.picked.as_deref(), Some(Picked::Elements(_))) {
            return Ok(());
        }
        let name = self.base_name(t.view.base).to_owned();
        let message = format!("elements of `{name}` that an index tensor picks cannot be cut or reordered");
        let error = self.error(&codes::UNSUPPORTED, at, message).help("cut or reorder the index tensor");
        Err(self.report(error))
    }

    /// Returns a tensor in global or shared memory.
    pub(crate) fn want_memory(&mut self, at: ExprId, value: Value, what: &str) -> Lower<Tensor> {
        match value {
            Value::Tensor(t) if !t.is_register() => Ok(t),
            Value::Tensor(_) | Value::Lazy(_) => {
                let message = format!("found a register tensor, expected one in memory for `{what}`");
                self.fail(&codes::WRONG_MEMORY, at, message)
            }
            other => {
                let message = format!("expected a tensor in memory for `{what}`, found {}", other.what());
                self.fail(&codes::TYPE_MISMATCH, at, message)
            }
        }
    }

    fn param_is_mutable(&self, p: hx_tile::ParamId) -> bool {
        matches!(self.output.param(p), Some(hx_tile::Param::Tensor(t)) if t.mutable)
    }
}

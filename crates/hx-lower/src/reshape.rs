//! Register tensors under another shape. The elements keep their row-major order, and no element changes threads.

use hx_base::codes;
use hx_hir::ExprId;
use hx_index::Expr;
use hx_tile::OpKind;

use crate::cx::{Cx, shape_text};
use crate::error::Lower;
use crate::value::{SymView, Tensor, Value};

impl Cx<'_> {
    /// Lowers `reshape(t, shape)` of a register tensor.
    pub(crate) fn reshape(&mut self, t: ExprId, shape: ExprId, hint: Option<&str>) -> Lower<Value> {
        let tensor = self.tensor(t)?;
        let shape_of = self.static_shape(shape)?;
        if !tensor.is_register() {
            let message = format!("found a {} tensor, wanted a register one for `reshape`", tensor.space());
            let error = self
                .error(&codes::WRONG_MEMORY, t, message)
                .help("`load(…)` moves a tile into registers; `global_view` gives global memory other modes");
            return Err(self.report(error));
        }
        let held: Option<i64> = tensor.shape().iter().map(Expr::as_const).product();
        if held != Some(shape_of.iter().product()) {
            let extents: Vec<Expr> = shape_of.iter().map(|extent| Expr::constant(*extent)).collect();
            let (found, wanted) = (shape_text(&tensor.shape()), shape_text(&extents));
            let message = format!("found the shape `{found}`, wanted as many elements as in `{wanted}`");
            return self.fail(&codes::SHAPE_MISMATCH, shape, message);
        }
        self.with_shape(t, &tensor, shape_of, hint).map(Value::Tensor)
    }

    /// Returns a new register tensor with the elements of another one under another shape.
    fn with_shape(&mut self, at: ExprId, t: &Tensor, shape: Vec<i64>, hint: Option<&str>) -> Lower<Tensor> {
        let whole = match self.register_of(t) {
            Some((id, own)) if t.view.as_permutation(&own).is_some_and(|order| order.is_sorted()) => id,
            _ => self.settled(at, t, None)?.0,
        };
        let (dst, made) = self.new_register(hint.unwrap_or("reshaped"), t.dtype, shape, at);
        self.emit(OpKind::Cast { dst, src: whole }, at);
        Ok(made)
    }

    /// Copies to or from a view with modes of several parts, by way of registers with a mode for each part.
    pub(crate) fn copy_groups(
        &mut self,
        id: ExprId,
        (src, from): (ExprId, &Tensor),
        (dst, to): (ExprId, &Tensor),
    ) -> Lower<()> {
        let held = self.in_registers(src, from, None)?;
        if to.view.groups.is_empty() {
            return self.copy_values(id, src, &held, dst, to);
        }
        let flat = parts_of(to);
        let shape = self.static_view(dst, &flat)?.shape();
        let held = self.with_shape(src, &held, shape, None)?;
        self.copy_values(id, src, &held, dst, &flat)
    }

    /// Loads a view with modes of several parts.
    pub(crate) fn load_groups(&mut self, at: ExprId, t: &Tensor, hint: Option<&str>) -> Lower<Tensor> {
        let name = format!("{}_parts", self.base_name(t.view.base));
        let parts = self.in_registers(at, &parts_of(t), Some(&name))?;
        // The extents of the parts are known, so those of the modes are.
        let shape: Option<Vec<i64>> = t.shape().iter().map(Expr::as_const).collect();
        self.with_shape(at, &parts, shape.unwrap_or_default(), hint)
    }
}

/// Returns the view with a mode for each part.
fn parts_of(t: &Tensor) -> Tensor {
    t.with_view(SymView { groups: Vec::new(), ..t.view.clone() })
}

//! Copies between two memories. Their tile passes through registers that the source does not name, so the solver may copy it in
//! rounds.

use hx_hir::{Builtin, CommonFn, Expr as HirExpr, ExprId, Resolution};
use hx_index::Expr;
use hx_tile::Picked;

use crate::cache::Hints;
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Tensor, Value};

impl Lowering<'_> {
    /// Returns the tile `from` in registers, on its way to the memory of `to`.
    pub(crate) fn passing(&mut self, at: ExprId, from: &Tensor, to: &Tensor) -> Lower<Tensor> {
        let held = self.in_registers(at, from, None)?;
        if let Some(tile) = held.view.base.register().filter(|_| is_passage(from, to)) {
            self.output.pass(tile);
        }
        Ok(held)
    }

    /// Returns the operand and the element type, if the expression is `cast(t, dtype)`; otherwise `None`.
    pub(crate) fn conversion(&self, at: ExprId) -> Option<(ExprId, ExprId)> {
        let HirExpr::Call { callee, args } = &self.store()[at] else { return None };
        let is_cast = matches!(
            self.frame().names.exprs.get(*callee),
            Some(Resolution::Builtin(Builtin::Common(CommonFn::Cast)))
        );
        match &args[..] {
            [t, dtype] if is_cast && t.name.is_none() && dtype.name.is_none() => Some((t.value, dtype.value)),
            _ => None,
        }
    }

    /// Copies `cast(t, dtype)`. If `t` is in memory, too, the solver may convert it in rounds.
    pub(crate) fn copy_converted(
        &mut self,
        id: ExprId,
        src: ExprId,
        (t, dtype): (ExprId, ExprId),
        dst: ExprId,
        hints: Hints,
    ) -> Lower<()> {
        let (value, dtype) = (self.eval(t), self.dtype(dtype));
        let (mut value, dtype) = (value?, dtype?);
        let mut to = self.tensor(dst)?;
        match &mut value {
            Value::Tensor(from) => self.give_hints(hints, "copy", [from, &mut to])?,
            _ => self.give_hints(hints, "copy", [&mut to])?,
        }
        let value = match value {
            Value::Tensor(from) if !from.is_register() => Value::Tensor(self.passing(t, &from, &to)?),
            other => other,
        };
        let value = self.converted(src, (t, value), dtype, None)?;
        let from = self.as_tensor(src, value)?;
        self.copy_values(id, src, &from, dst, &to)
    }
}

/// Reports whether a copy between two memories may move in rounds. It moves at once if both views are of one tensor, because its rounds
/// could overwrite elements that later ones read, and if a view has picked elements, modes of several parts, or extents that are not
/// known.
fn is_passage(from: &Tensor, to: &Tensor) -> bool {
    let in_memory = !from.is_register() && !to.is_register() && from.view.base != to.view.base;
    let picks = |t: &Tensor| matches!(t.view.picked.as_deref(), Some(Picked::Elements(_)));
    let is_grouped = !from.view.groups.is_empty() || !to.view.groups.is_empty();
    let is_known = from.shape().iter().map(Expr::as_const).all(|extent| extent.is_some());
    in_memory && is_known && !is_grouped && !picks(from) && !picks(to)
}

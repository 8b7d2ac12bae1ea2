//! Register and shared tensors under another shape. The elements keep their row-major order, no element changes threads, and none
//! moves in memory.

use hx_base::codes;
use hx_hir::ExprId;
use hx_index::Expr;
use hx_tile::OpKind;

use crate::error::Lower;
use crate::lowering::{Lowering, shape_text};
use crate::value::{SymMode, SymView, Tensor, Value};

impl Lowering<'_> {
    /// Lowers `reshape(t, shape)`. The result is a new tensor for a register tensor, and a view for a shared one.
    pub(crate) fn reshape(&mut self, t: ExprId, shape: ExprId, hint: Option<&str>) -> Lower<Value> {
        let tensor = self.tensor(t)?;
        let shape_of = self.static_shape(shape)?;
        if tensor.is_global() {
            let message = "found a global tensor, expected a register or shared one for `reshape`";
            let error = self
                .error(&codes::WRONG_MEMORY, t, message)
                .help("`load(…)` moves a tile into registers; `global_view` gives global memory other modes");
            return Err(self.report(error));
        }
        let held: Option<i64> = tensor.shape().iter().map(Expr::as_const).product();
        if held != Some(shape_of.iter().product()) {
            let extents: Vec<Expr> = shape_of.iter().map(|extent| Expr::constant(*extent)).collect();
            let (found, wanted) = (shape_text(&tensor.shape()), shape_text(&extents));
            let message = format!("found the shape `{found}`, expected as many elements as in `{wanted}`");
            return self.fail(&codes::SHAPE_MISMATCH, shape, message);
        }
        if tensor.is_register() {
            return self.with_shape(t, &tensor, shape_of, hint).map(Value::Tensor);
        }
        self.want_unpicked(t, &tensor)?;
        match divided(&tensor, &shape_of) {
            Some(view) => Ok(Value::Tensor(tensor.with_view(view))),
            None => {
                let (found, wanted) = (shape_text(&tensor.shape()), format!("{shape_of:?}"));
                let message = format!(
                    "`{wanted}` cuts modes of the shared tensor unevenly, expected extents that divide modes of `{found}` or join them"
                );
                let error = self
                    .error(&codes::SHAPE_MISMATCH, shape, message)
                    .label("the tensor has one address for each index of its own modes, so they are divided and joined as a whole")
                    .help("`reshape(load(…), …)` goes through registers");
                Err(self.report(error))
            }
        }
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

/// Returns the view of a tensor in memory under another shape of as many elements, by dividing and joining its modes. The
/// coordinates of the tensor are those of its own modes, so the view holds for any layout of the memory. `None` if an old mode
/// would have to be cut unevenly: `[6]` as `[3, 2]` works, `[6, 2]` as `[3, 4]` too, but `[6, 2]` as `[4, 3]` does not.
fn divided(t: &Tensor, shape: &[i64]) -> Option<SymView> {
    // Both shapes are walked from their fastest modes on. `left` is the part of the old mode that is not yet in a new mode: its
    // extent, and the mode with the factor of its next step.
    let mut old = t.view.modes.iter().rev();
    let mut left: Option<(i64, SymMode)> = None;
    let mut groups: Vec<Vec<SymMode>> = Vec::new();
    for &extent in shape.iter().rev() {
        let (mut wanted, mut group) = (extent, Vec::<SymMode>::new());
        while wanted > 1 {
            let (rest, mode) = match left.take() {
                Some((rest, mode)) if rest > 1 => (rest, mode),
                _ => {
                    let mode = old.next()?.clone();
                    left = Some((mode.extent.as_const()?, mode));
                    continue;
                }
            };
            let taken = rest.min(wanted);
            if rest % taken != 0 || wanted % taken != 0 {
                return None;
            }
            wanted /= taken;
            left = Some((rest / taken, SymMode { factor: mode.factor.scale(taken), ..mode.clone() }));
            // A piece that continues the previous piece extends that mode.
            match group.last_mut() {
                Some(last) if last.dim == mode.dim && &last.factor * &last.extent == mode.factor => {
                    last.extent = last.extent.scale(taken);
                }
                _ => group.push(SymMode { extent: Expr::constant(taken), ..mode }),
            }
        }
        if group.is_empty() {
            group.push(SymMode { extent: Expr::constant(1), dim: 0, factor: Expr::default() });
        }
        group.reverse();
        groups.push(group);
    }
    groups.reverse();
    let lengths: Vec<usize> = groups.iter().map(Vec::len).collect();
    let is_flat = lengths.iter().all(|n| *n == 1);
    let modes = groups.into_iter().flatten().collect();
    Some(SymView { modes, groups: if is_flat { Vec::new() } else { lengths }, ..t.view.clone() })
}

/// Returns the view with a mode for each part.
fn parts_of(t: &Tensor) -> Tensor {
    t.with_view(SymView { groups: Vec::new(), ..t.view.clone() })
}

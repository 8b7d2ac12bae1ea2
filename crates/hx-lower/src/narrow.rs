//! Tiles of global memory that no asynchronous copy moves: fewer bytes of one lie side by side for certain than the narrowest copy of the
//! target moves.

use hx_index::Expr;
use hx_tile::{Param, View, ViewMode};

use crate::lowering::Lowering;

impl Lowering<'_> {
    /// Returns why an asynchronous copy cannot move a tile to shared memory; `None` if one may. In a tensor with an order of its own the
    /// solver decides.
    pub(crate) fn narrow(&self, src: &View) -> Option<String> {
        let Some(Param::Tensor(param)) = src.base.param().and_then(|param| self.output.param(param)) else {
            return None;
        };
        if src.pad != hx_tile::Constant::ZERO {
            return Some(format!("elements outside of `{}` read as a number other than 0", param.name));
        }
        if src.cache.l1.is_some() {
            return Some("asynchronous copies take no hint for L1".to_owned());
        }
        let copies = self.target.rows().copies.iter().filter(|row| row.is_async());
        let least = copies.map(|row| i64::from(row.bytes)).min()?;
        let bits = i64::from(param.dtype.bits());
        if bits >= 8 * least || param.block.is_some() {
            return None;
        }
        let unit = 8 * least / bits;
        let is_whole = |expr: &Expr| self.facts.divides(unit, expr);
        let is_side_by_side = |dim: usize| {
            let own = || src.modes.iter().filter(|mode| mode.dim == dim && mode.extent != 1);
            let is_run = |mode: &&ViewMode| mode.factor.as_const() == Some(1) && mode.extent % unit == 0;
            let run = own().find(is_run);
            let others = own().filter(|mode| run.is_none_or(|run| !std::ptr::eq(*mode, run)));
            param.stride[dim].as_const() == Some(1)
                && run.is_some()
                && others.into_iter().all(|mode| is_whole(&mode.factor))
        };
        let Some(along) = (0..param.shape.len()).find(|dim| is_side_by_side(*dim)) else {
            return Some(format!("fewer than {least} B of a tile of `{}` lie side by side", param.name));
        };
        let others = param.stride.iter().enumerate().filter(|(dim, _)| *dim != along);
        if let Some((_, stride)) = others.into_iter().find(|(_, stride)| !is_whole(stride)) {
            return Some(format!(
                "the stride `{stride}` of `{}` is no multiple of {least} B for certain",
                param.name
            ));
        }
        if !is_whole(&src.offsets[along]) {
            return Some(format!(
                "the tile of `{}` begins at `{}`, no multiple of {least} B for certain",
                param.name, src.offsets[along]
            ));
        }
        if !is_whole(&param.shape[along]) || src.ends.iter().any(|(dim, end)| *dim == along && !is_whole(end))
        {
            return Some(format!("a row of `{}` ends at no multiple of {least} B for certain", param.name));
        }
        (i64::from(param.align) % least != 0)
            .then(|| format!("`{}` begins at a multiple of {} B", param.name, param.align))
    }
}

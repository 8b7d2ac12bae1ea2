//! Views whose elements overlap. They may be read, but a copy to them would write an element several times.

use hx_base::codes;
use hx_hir::ExprId;
use hx_index::{CmpOp, Cond, Expr};
use hx_tile::Picked;

use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{SymMode, Tensor};

impl Lowering<'_> {
    /// Refuses to write a view that may hold an element of its tensor twice.
    pub(crate) fn want_distinct(&mut self, at: ExprId, t: &Tensor) -> Lower<()> {
        // The places of a scatter are known at run time only. The simulator reports an element that gets two values.
        let is_scattered = matches!(t.view.picked.as_deref(), Some(Picked::Elements(_)));
        if !t.is_global() || is_scattered {
            return Ok(());
        }
        for dim in 0..t.view.offsets.len() {
            let modes: Vec<&SymMode> = t.view.modes.iter().filter(|mode| mode.dim == dim).collect();
            let Some(overlap) = self.overlap(modes) else { continue };
            let name = self.base_name(t.view.base).to_owned();
            let list: Vec<String> =
                overlap.iter().map(|mode| format!("`{} : {}`", mode.extent, mode.factor)).collect();
            let error = self
                .error(&codes::OVERLAPPING_WRITE, at, format!("this view of `{name}` may hold an element twice, so it may only be read"))
                .label(format!("not proven to be distinct: the steps {} along dimension {dim}", list.join(" and ")))
                .help("a stride that is at least the reach of the other modes of its dimension keeps elements apart; `atomic_add` adds to elements that overlap");
            return Err(self.report(error));
        }
        Ok(())
    }

    /// Returns modes of one dimension that are not known to reach distinct coordinates. `None` if they are: then each step is longer
    /// than all shorter steps together.
    fn overlap<'m>(&self, modes: Vec<&'m SymMode>) -> Option<Vec<&'m SymMode>> {
        let mut rest: Vec<&SymMode> =
            modes.into_iter().filter(|mode| mode.extent.as_const() != Some(1)).collect();
        let length = |mode: &SymMode| {
            let is_negative = self.facts.proves_lt(&mode.factor, &Expr::default());
            if is_negative { mode.factor.scale(-1) } else { mode.factor.clone() }
        };
        while !rest.is_empty() {
            let is_longest = |at: usize| {
                let others = rest.iter().enumerate().filter(|(other, _)| *other != at);
                let reach = others.fold(Expr::default(), |sum, (_, mode)| {
                    sum + &(mode.extent.clone() - Expr::constant(1)) * &length(mode)
                });
                let apart = Cond::cmp(CmpOp::Lt, reach.simplify(&self.facts), length(rest[at]), &self.facts);
                apart == Cond::True || self.is_asserted(&[apart])
            };
            match (0..rest.len()).find(|at| is_longest(*at)) {
                Some(at) => drop(rest.remove(at)),
                None => return Some(rest),
            }
        }
        None
    }
}

//! Global memory that a bulk store of one scope writes and that another scope uses.

use std::collections::BTreeSet;

use hx_tile::{Base, Op, OpKind, Param, ParamId, ScopeId, TileProgram, View};

use super::super::Far;
use super::super::reach::Reach;
use super::Translator;

/// Returns the parameters that a store of one scope writes and another scope uses; none if the program orders accesses to global memory
/// by atomic ones, which the machine does not follow.
pub(super) fn handed_on(tile: &TileProgram) -> BTreeSet<ParamId> {
    let ops = tile.ops(1.0);
    let releases = |op: &Op| matches!(&op.kind, OpKind::Atomic(atomic) if matches!(atomic.memory.base, Base::Global(_)) && atomic.order.releases());
    if ops.iter().any(|(op, _)| releases(op)) {
        return BTreeSet::new();
    }
    let mut stored: Vec<(ParamId, ScopeId)> = Vec::new();
    for (op, _) in &ops {
        if let OpKind::Store { dst: View { base: Base::Global(param), .. }, .. } = &op.kind {
            stored.push((*param, op.scope));
        }
    }
    let apart = |a: ScopeId, b: ScopeId| {
        let (a, b) = (tile.scope(a), tile.scope(b));
        a.end() <= u64::from(b.first) || b.end() <= u64::from(a.first)
    };
    let mut handed_on = BTreeSet::new();
    for (op, _) in &ops {
        for access in op.kind.description().accesses {
            let Base::Global(param) = access.base() else { continue };
            if stored.iter().any(|(other, scope)| *other == param && apart(*scope, op.scope)) {
                handed_on.insert(param);
            }
        }
    }
    handed_on
}

impl Translator<'_> {
    /// Returns the elements of a parameter that a view shows, if a store of one scope writes and another scope uses it. `None` if data
    /// pick them, or a step of the view is not constant.
    pub(super) fn far(&self, view: &View) -> Option<Far> {
        let Base::Global(param) = view.base else { return None };
        if !self.handed_on.contains(&param) || view.picked.is_some() {
            return None;
        }
        let Some(Param::Tensor(tensor)) = self.tile.params.get(param.0 as usize) else { return None };
        let range = |(dim, extent): (usize, &hx_index::Expr)| {
            let start = view.offsets.get(dim).cloned().unwrap_or_default();
            let own = view.modes.iter().filter(|mode| mode.dim == dim && mode.extent != 1);
            let modes: Vec<(i64, i64)> =
                own.map(|mode| Some((mode.factor.as_const()?, mode.extent))).collect::<Option<_>>()?;
            Some((start, Reach::of(&modes)?, extent.clone()))
        };
        let ranges = tensor.shape.iter().enumerate().map(range).collect::<Option<_>>()?;
        Some(Far { param, ranges })
    }
}

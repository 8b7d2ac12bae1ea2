//! The loads among some statements, and walks over statements and views.

use hx_index::Expr;
use hx_tile::{Base, Control, OpKind, Origin, Picked, ScopeId, Stmt, TensorId, View};

use crate::lowering::Lowering;

/// A load of a tile from global memory to registers: one operation of a list of statements.
pub(super) struct Load {
    /// Its index among the statements.
    pub(super) at: usize,
    pub(super) src: View,
    pub(super) tile: TensorId,
    pub(super) scope: ScopeId,
    pub(super) origin: Origin,
}

/// Returns the loads among the statements themselves, in their order. A tile on its way to another memory is none, and neither is a load
/// whose instruction the source names: it would not be that instruction.
pub(super) fn loads_of(lowering: &Lowering<'_>, stmts: &[Stmt]) -> Vec<Load> {
    let load = |(at, stmt): (usize, &Stmt)| {
        let op = stmt.op()?;
        let OpKind::Copy { src, dst } = &op.kind else { return None };
        let tile = dst.register().filter(|tile| !lowering.output.is_passing(*tile))?;
        let is_whole = *dst == View::whole(Base::Register(tile), &lowering.output.tensor(tile).shape);
        let is_load = is_whole && matches!(src.base, Base::Global(_)) && src.picks().is_empty();
        (is_load && !lowering.output.is_pinned(op.id)).then(|| Load {
            at,
            src: src.clone(),
            tile,
            scope: op.scope,
            origin: op.origin,
        })
    };
    stmts.iter().enumerate().filter_map(load).collect()
}

/// Calls `see` with every expression of a view.
pub(super) fn each_expr(view: &View, see: &mut dyn FnMut(&Expr)) {
    view.offsets.iter().for_each(&mut *see);
    view.modes.iter().for_each(|mode| see(&mode.factor));
    view.ends.iter().for_each(|(_, end)| see(end));
    if let Some(Picked::Rows(rows)) = &view.picked {
        rows.offsets.iter().for_each(&mut *see);
        rows.ends.iter().for_each(|(_, end)| see(end));
        [&rows.factor, &rows.extent].into_iter().for_each(see);
    }
}

/// Calls `see` with every statement, those inside of others included.
pub(super) fn each_stmt(stmts: &[Stmt], see: &mut dyn FnMut(&Stmt)) {
    for stmt in stmts {
        see(stmt);
        stmt.bodies().for_each(|body| each_stmt(body, see));
    }
}

/// Returns whether a statement is a loop.
pub(super) fn is_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Control(Control::For { .. } | Control::While { .. }))
}

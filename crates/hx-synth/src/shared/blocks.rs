//! Tensors in global memory whose elements lie in blocks: the order that their accesses ask of shared tensors and of registers.

use hx_layout::Layout;
use hx_tile::{Param, Tensor, TileProgram};

use super::buffer::{End, Use};
use super::constraint::Constraint;
use crate::access::{Access, Run, global, is_packed};
use crate::search::context::SolverContext;

/// Reports whether the first elements of a block in global memory, those of the widest access, are no neighbours of one dimension in ascending
/// order. Registers that come from such a block, or go to one, then hold neighbours of the block, along several dimensions perhaps.
pub(super) fn cross(program: &TileProgram) -> bool {
    program.params.iter().any(|param| {
        let Param::Tensor(tensor) = param else { return false };
        let Some(block) = &tensor.block else { return false };
        let modes: Vec<Layout> = block.modes().iter().map(Layout::coalesce).collect();
        let leaves: Vec<(usize, &[(i64, i64)])> =
            modes.iter().enumerate().map(|(dim, mode)| (dim, mode.leaves())).collect();
        let run = Run::in_block(&leaves);
        let widest = i64::from(program.target.limits.access_bytes) * 8 / i64::from(tensor.dtype.bits());
        // Registers hold packed elements of one dimension in the order of their memory in any case.
        let is_known = |piece: &Run| is_packed(tensor.dtype) && piece.dims().len() == 1 && piece.is_box();
        run.piece(widest).is_some_and(|piece| !piece.is_plain() && !is_known(&piece))
    })
}

/// Returns the constraint that a shared tensor has the order of the blocks in global memory from which an access copies pieces that are no
/// boxes; `None` for any other access.
pub(super) fn order(
    context: &SolverContext<'_, '_>,
    u: &Use<'_>,
    access: &Access,
    info: &Tensor,
) -> Option<Constraint> {
    let End::Global(view) = &u.end else { return None };
    if access.run.is_box() {
        return None;
    }
    let program = context.program();
    let param = global::param_of(program, view)?;
    let aligned = context.pool.alignment(u.op.id, || global::alignment(program, view, param));
    let block = aligned.run.as_ref()?.longest_box();
    let block = block.renamed(|dim| Some(u.view.modes.get(dim)?.dim))?;
    Constraint::run(&info.shape, &block)
}

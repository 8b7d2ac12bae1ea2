//! Layouts of shared memory (paper, section V): the constraints of the accesses are unified, filled by cost, swizzled and placed.

mod addresses;
mod asynchronous;
pub(crate) mod barriers;
mod blocks;
mod boxes;
pub(crate) mod buffer;
mod bulk;
mod conflicts;
mod constraint;
mod demanded;
mod issued;
mod joint;
mod materialize;
pub(crate) mod measured;
mod mode;
mod operand;
mod options;
mod place;
mod runs;
mod serve;
mod start;
mod swizzle;
#[cfg(test)]
mod tests;

pub(crate) use boxes::fetched;
pub(crate) use buffer::{By, Use};
pub(crate) use constraint::Constraint;
pub(crate) use demanded::Demanded;
pub(crate) use issued::Issued;
pub(crate) use operand::{is_reached, unreached};
#[cfg(test)]
pub(crate) use options::solve_under;
pub(crate) use options::{check_pins, ideal, least, least_cycles, solve};
pub(crate) use place::{Item, align, offsets};

use hx_layout::ComposedLayout;
use hx_tile::{Tensor, TensorId, TensorKind, TileProgram};

use crate::search::context::SolverContext;

/// Returns the layout to which the user pinned the tensor; `None` for a tensor in registers or without a pin.
pub(crate) fn pin_of(program: &TileProgram, tensor: TensorId) -> Option<&ComposedLayout> {
    pin(program.tensor(tensor))
}

fn pin(tensor: &Tensor) -> Option<&ComposedLayout> {
    match &tensor.kind {
        TensorKind::Shared { pinned } => pinned.as_ref(),
        TensorKind::Register { .. } => None,
    }
}

/// Returns the demand of a shared tensor itself, before its accesses: the swizzle of its pin. The pin's strides are no part of it:
/// whether an access fits them is checked address by address.
fn demand(tensor: &Tensor) -> Constraint {
    let free = || Constraint::free(&tensor.shape);
    pin(tensor).map_or_else(free, |pin| Constraint::pinned(&tensor.shape, pin.swizzle))
}

/// Returns the [`demand`] of a tensor that is not pinned, with the swizzle that the run must give it.
fn demand_in(context: &SolverContext<'_, '_>, id: TensorId) -> Constraint {
    let tensor = context.program().tensor(id);
    match context.pool.wish.swizzles.get(&id).filter(|_| pin(tensor).is_none()) {
        Some(swizzle) => Constraint::pinned(&tensor.shape, *swizzle),
        None => demand(tensor),
    }
}

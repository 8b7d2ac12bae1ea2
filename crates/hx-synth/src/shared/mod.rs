//! Layouts of shared memory (paper, section V): the constraints of the accesses are unified, filled by cost, swizzled and placed.

mod asynchronous;
mod conflicts;
mod constraint;
mod joint;
mod materialize;
mod measured;
mod options;
mod place;
mod serve;
mod start;
mod swizzle;
#[cfg(test)]
mod vectors;

pub(crate) use constraint::Constraint;
pub(crate) use measured::{Measured, MeasuredOf};
pub(crate) use options::{Known, Use, ideal, least, least_cycles, solve};
pub(crate) use place::{ALIGN, Item, offsets};

use hx_layout::ComposedLayout;
use hx_tile::{TensorId, TensorKind, TileProgram};

/// Returns the layout to which the user pinned the tensor.
fn pin_of(program: &TileProgram, tensor: TensorId) -> Option<&ComposedLayout> {
    match &program.tensor(tensor).kind {
        TensorKind::Shared { pinned } => pinned.as_ref(),
        TensorKind::Register { .. } => None,
    }
}

//! Layouts of shared memory (paper, section V): constraints of the accesses, unified, filled by cost, swizzled, placed.

mod asynchronous;
mod conflicts;
mod constraint;
mod joint;
mod materialize;
mod options;
mod place;
mod serve;
mod start;
mod swizzle;
#[cfg(test)]
mod vectors;

pub(crate) use constraint::Constraint;
pub(crate) use options::{Known, Use, ideal, least, least_cycles, solve};
pub(crate) use place::{Item, offsets};

use hx_layout::ComposedLayout;
use hx_tile::{TensorId, TensorKind, TileProgram};

/// The layout that the user pinned.
fn pin_of(program: &TileProgram, tensor: TensorId) -> Option<&ComposedLayout> {
    match &program.tensor(tensor).kind {
        TensorKind::Shared { pinned } => pinned.as_ref(),
        TensorKind::Register { .. } => None,
    }
}

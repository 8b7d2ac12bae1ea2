//! Layouts of shared memory (paper, section V): constraints of the accesses, unified, filled by cost, swizzled, placed.

mod asynchronous;
mod conflicts;
mod constraint;
mod materialize;
mod options;
mod place;
mod swizzle;
#[cfg(test)]
mod vectors;

pub(crate) use constraint::Constraint;
pub(crate) use options::{Known, Use, ideal, least, solve};
pub(crate) use place::{Item, offsets};

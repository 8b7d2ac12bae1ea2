//! Layouts of shared memory (paper, section V): constraints of the accesses, unified, filled by cost, swizzled, placed.

mod conflicts;
mod constraint;
mod materialize;
mod options;
mod swizzle;

pub(crate) use options::{Use, ideal, solve};

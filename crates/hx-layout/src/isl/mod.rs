//! Layouts as integer set relations in the syntax of the isl library, written and read.
//!
//! Any tool that knows isl reads the text that `write` writes. It uses quasi-affine arithmetic only: sums, multiples, `floor` of
//! a division by a number, and `mod` by a number. `read` reads that text and the forms that isl prints, `list` enumerates the
//! points of a bounded relation, and `recover` finds the layout whose relation it is. `operations` has the algebra of relations,
//! `simplify` shortens its results, and `collect` writes listed points as a relation again. None of them replaces isl: what formulas alone do not decide, they
//! answer for finite relations by enumeration.

mod collect;
mod list;
mod operations;
mod read;
mod recover;
mod relation;
mod simplify;
mod write;

pub use list::Points;
pub use relation::{Relation, RelationError};
pub use write::{
    composed_map, coord_map, image, index_map, inverse, layout_map, linear_map, open_swizzle_map,
    swizzle_map, swizzled_layout_map,
};

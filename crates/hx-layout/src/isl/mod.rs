//! Layouts as integer set relations, in the syntax of the isl library, and a reader for what is written here.
//!
//! The text can be given to any tool that knows isl. It knows quasi-affine arithmetic only: sums, multiples, `floor` of a
//! division by a number, and `mod` by a number. [`Relation`] enumerates bounded relations; it is no replacement for isl.

mod relation;
mod write;

pub use relation::{Points, Relation, RelationError};
pub use write::{composed_map, coord_map, image, index_map, inverse, layout_map, linear_map, swizzle_map};

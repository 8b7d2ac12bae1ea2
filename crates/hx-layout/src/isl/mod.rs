//! Layouts as integer set relations in the syntax of the isl library, and a reader for the relations that this module writes.
//!
//! Any tool that knows isl reads the text. It uses quasi-affine arithmetic only: sums, multiples, `floor` of a division by a
//! number, and `mod` by a number. [`Relation`] enumerates bounded relations; it does not replace isl.

mod relation;
mod write;

pub use relation::{Points, Relation, RelationError};
pub use write::{composed_map, coord_map, image, index_map, inverse, layout_map, linear_map, swizzle_map};

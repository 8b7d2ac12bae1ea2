//! The layout algebra: hierarchical shape:stride layouts in CuTe's notation, tilers, swizzles and what is done with them.
//!
//! A [`Layout`] is a function from coordinates to integers; two layouts that differ in text can be the same function,
//! and [`equal_function`] decides that. 1-D coordinates are colexicographic: the leftmost mode moves fastest.
//! All arithmetic is checked; what does not fit an `i64`, or what the algebra does not define, is a [`LayoutError`].
//!
//! This crate knows neither source text of the language, nor instructions, nor devices. Start at [`Layout`], then `algebra`.

mod algebra;
pub mod draw;
mod error;
pub mod expr;
pub mod isl;
pub mod judge;
pub mod labels;
mod layout;
pub mod linear;
mod parse;
pub mod prove;
mod swizzle;
mod tiler;
mod tuple;

pub use algebra::coalesce::equal_function;
pub use error::LayoutError;
pub use expr::eval_expr;
pub use labels::{Labeled, Labels};
pub use layout::{Layout, Mode};
pub use linear::{LinearError, LinearLayout};
pub use swizzle::{ComposedLayout, Swizzle};
pub use tiler::{Coord, Tiler};
pub use tuple::IntTuple;

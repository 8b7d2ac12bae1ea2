//! The layout algebra: hierarchical shape:stride layouts in CuTe's notation, tilers, swizzles and the operations on them.
//!
//! A [`Layout`] is a function from coordinates to integers. Two layouts that differ in text can be the same function;
//! [`equal_function`] decides that. 1-D coordinates are colexicographic: the leftmost mode moves fastest. All arithmetic
//! is checked. An operation that the algebra does not define, or whose result does not fit an `i64`, is a
//! [`LayoutError`].
//!
//! Invariant: the crate knows no text of the language, no element type, no instruction and no device.
//!
//! Start at [`Layout`], then `algebra`.

mod after_swizzle;
mod algebra;
pub mod draw;
mod error;
pub mod expr;
pub mod isl;
pub mod labels;
mod layout;
pub mod linear;
mod parse;
pub mod prove;
mod swizzle;
mod tiler;
mod tuple;

pub use after_swizzle::AfterSwizzle;
pub use algebra::coalesce::equal_function;
pub use error::LayoutError;
pub use expr::eval_expr;
pub use labels::{Labeled, Labels};
pub use layout::{Layout, Mode};
pub use linear::{LinearError, LinearLayout};
pub use swizzle::{ComposedLayout, Swizzle};
pub use tiler::{Coord, Tiler};
pub use tuple::IntTuple;

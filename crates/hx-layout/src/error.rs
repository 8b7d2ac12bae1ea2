//! The errors of the algebra, with messages for people.

use crate::{IntTuple, Layout};

/// The reason why an operation on layouts has no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The text does not follow the notation; `at` is a byte offset into it.
    #[error("{message} at byte {at}")]
    Parse { at: usize, message: String },
    /// Shape and stride differ in structure.
    #[error("shape `{shape}` and stride `{stride}` differ in structure")]
    NotCongruent { shape: IntTuple, stride: IntTuple },
    /// A stride has a tuple where the shape has an integer, as strides of coordinates do.
    #[error(
        "stride `{stride}` has a tuple where shape `{shape}` has an integer, and a layout has one integer a mode: for values with several coordinates, write one layout for each coordinate, or a relation such as `{{ [i, j] -> [i, j] : 0 <= i < 4 and 0 <= j < 8 }}`"
    )]
    CoordinateStride { shape: IntTuple, stride: IntTuple },
    /// An extent below 1.
    #[error("extent {0} is less than 1: a layout has at least one coordinate")]
    Extent(i64),
    /// A tuple without entries.
    #[error("a tuple needs at least one entry")]
    EmptyTuple,
    /// A number that does not fit a signed 64-bit integer.
    #[error("{0} does not fit a 64-bit integer")]
    Overflow(&'static str),
    /// A coordinate that does not fit the shape.
    #[error("coordinate `{coord}` does not fit shape `{shape}`")]
    Coordinate { coord: String, shape: IntTuple },
    /// More modes are given than the operand has.
    #[error("{what} has {given} modes where at most {limit} fit")]
    Rank { what: &'static str, given: usize, limit: usize },
    /// The operation needs another number of modes.
    #[error("{what} has {wanted} modes, and {given} were given")]
    Modes { what: &'static str, given: usize, wanted: usize },
    /// The result is a function that no layout of the required shape computes.
    #[error("`{a}` after `{b}` is not a layout: {why}")]
    NotALayout { a: Box<Layout>, b: Box<Layout>, why: String },
    /// The layout takes a value twice, but the operation needs it to be injective.
    #[error("`{0}` takes a value twice")]
    NotInjective(Layout),
    /// No layout fills the gaps of this one.
    #[error("`{layout}` has no complement: {why}")]
    NoComplement { layout: Layout, why: String },
    /// No layout that follows the modes inverts the layout.
    #[error("`{layout}` has no left inverse that follows its modes: {why}")]
    NoInverse { layout: Layout, why: String },
    /// The layout has no inverse, because its values are not the integers below its size.
    #[error(
        "`{layout}` is not a permutation of 0..{size}: it reaches 0..{reach}; `right_inverse` or `left_inverse` may do"
    )]
    NotAPermutation { layout: Layout, size: i64, reach: i64 },
    /// The operation is defined only for layouts whose values begin at 0.
    #[error("{what} is defined for layouts without an offset, and `{layout}` has the offset {offset}")]
    Offset { what: &'static str, layout: String, offset: i64 },
    /// No layout fills the gaps of this swizzled one.
    #[error("`{layout}` has no complement: {why}")]
    NoSwizzledComplement { layout: String, why: String },
    /// The operation is defined only for strides of at least 0.
    #[error("{what} is defined for strides of at least 0, and `{layout}` has a negative one")]
    NegativeStride { what: &'static str, layout: Layout },
    /// A number is below the least one that the operation accepts.
    #[error("{what} must be at least {least}, and {given} was given")]
    TooSmall { what: &'static str, least: i64, given: i64 },
    /// The strides do not allow another element width.
    #[error("`{layout}` cannot be read in units of {factor} elements: {why}")]
    Recast { layout: Layout, factor: i64, why: String },
    /// The copies of a swizzled layout do not begin at multiples of the swizzle's period.
    #[error(
        "`{layout}` cannot be repeated: its copies `{copies}` do not begin at multiples of {period}, and the swizzle moves with a copy only then; to swizzle the whole product, apply `{swizzle}` to the product of `{inner}`"
    )]
    SwizzledCopies { layout: String, inner: Box<Layout>, swizzle: String, copies: Box<Layout>, period: i64 },
    /// No swizzle acts on units of that many elements as this one acts on elements.
    #[error("`{layout}` cannot be read in elements of another width: {why}")]
    SwizzledRecast { layout: String, why: String },
    /// A tile does not divide the shape that it is to fill.
    #[error(
        "`{layout}` does not tile the shape `{shape}`: mode {mode} of the tile has {tile} coordinates, which do not divide {whole}"
    )]
    Tile { layout: Layout, shape: IntTuple, mode: usize, tile: i64, whole: i64 },
    /// Swizzle parameters outside their range.
    #[error(
        "`Sw<{bits},{base},{shift}>` needs the size of its shift to be at least its number of bits, and all bits below 63"
    )]
    Swizzle { bits: u32, base: u32, shift: i32 },
    /// The answer would need more enumeration than the limit allows.
    #[error("{what} would need {count} evaluations, more than {limit}")]
    TooLarge { what: &'static str, count: i64, limit: i64 },
}

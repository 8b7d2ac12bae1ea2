//! The table of functions: a row has the name, the documentation, and what the function computes.

use Does::{All, Copies, Divided, Layouts, Modes, Number, One, Repeated, Three, Two};

use super::layouts::{
    coalesce, complement, compose, concat, divide, downcast, inverse, left_inverse, mode, product,
    recast_bits, right_inverse, slice, swizzle, tile_to_shape, upcast,
};
use super::relations::{domain, from_isl, image, intersection, relation, union};
use super::{cosize, is_injective, linear, plain, size, table, to_layout, unswizzled};
use crate::expr::{Fault, Value};
use crate::{ComposedLayout, Layout, LayoutError, Tiler};

/// A function of the notation.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    pub name: &'static str,
    /// The value that it returns, in one sentence.
    pub doc: &'static str,
    pub(super) does: Does,
}

/// The implementation of a function, by the types of its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    /// Maps a layout to a layout.
    Layout(fn(&Layout) -> Result<Layout, LayoutError>),
    /// Maps two layouts to a layout.
    Layouts(fn(&Layout, &Layout) -> Result<Layout, LayoutError>),
    /// Maps a layout to a layout. A swizzle after it stays.
    Modes(fn(&Layout) -> Result<Layout, LayoutError>),
    /// Maps a layout and a tiler to a layout. A swizzle after it stays.
    Divided(fn(&Layout, &Tiler) -> Result<Layout, LayoutError>),
    /// Maps a layout, which may have a swizzle, and a tiler to a layout.
    Repeated(fn(&ComposedLayout, &Tiler) -> Result<ComposedLayout, LayoutError>),
    /// Maps a layout, which may have a swizzle, and a layout to a layout.
    Copies(fn(&ComposedLayout, &Layout) -> Result<ComposedLayout, LayoutError>),
    /// Maps a layout to an integer.
    Number(fn(&Layout) -> i64),
    One(fn(&Value) -> Result<Value, Fault>),
    Two(fn(&Value, &Value) -> Result<Value, Fault>),
    Three(fn(&Value, &Value, &Value) -> Result<Value, Fault>),
    /// Maps any number of arguments to a value.
    All(fn(&[Value]) -> Result<Value, Fault>),
}

/// All functions, by name.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "blocked_product",
        doc: "`a` repeated by `b`, block beside block.",
        does: Copies(ComposedLayout::blocked_product),
    },
    Function { name: "coalesce", doc: "The same function in fewer modes.", does: All(coalesce) },
    Function {
        name: "column_major",
        doc: "The column-major layout of a shape.",
        does: One(|shape| Ok(Value::from_layout(Layout::column_major(shape.tuple()?)?))),
    },
    Function {
        name: "compatible",
        doc: "Whether every coordinate of `a` is a coordinate of `b`.",
        does: Two(|a, b| Ok(Value::Bool(a.tuple()?.compatible(&b.tuple()?)))),
    },
    Function {
        name: "complement",
        doc: "The layout of the indices that `l` leaves out; of a relation, the set of the values that it does not take.",
        does: All(complement),
    },
    Function { name: "compose", doc: "The layout `a ∘ b`.", does: Two(compose) },
    Function { name: "concat", doc: "The modes of all arguments beside each other.", does: All(concat) },
    Function {
        name: "congruent",
        doc: "Whether two tuples nest alike.",
        does: Two(|a, b| Ok(Value::Bool(a.tuple()?.congruent(&b.tuple()?)))),
    },
    Function { name: "cosize", doc: "One more than the largest index of a layout.", does: One(cosize) },
    Function {
        name: "crd2idx",
        doc: "The colexicographic index of a coordinate in a shape.",
        does: Two(|shape, c| Ok(Value::Int(shape.tuple()?.coord_to_index(&c.tuple()?)?))),
    },
    Function {
        name: "depth",
        doc: "The depth to which the modes of a layout nest.",
        does: Number(|a| a.depth() as i64),
    },
    Function { name: "divide", doc: "A layout divided by a tiler: tile and rest.", does: Two(divide) },
    Function {
        name: "domain",
        doc: "The set of the coordinates of a relation or layout.",
        does: One(domain),
    },
    Function { name: "downcast", doc: "A layout in elements `n` times as narrow.", does: Two(downcast) },
    Function {
        name: "filter",
        doc: "A layout without modes of stride 0 or extent 1.",
        does: Modes(|a| Ok(a.filter())),
    },
    Function {
        name: "flat_divide",
        doc: "As `zipped_divide`, all modes beside each other.",
        does: Divided(Layout::flat_divide),
    },
    Function {
        name: "flat_product",
        doc: "As `zipped_product`, all modes beside each other.",
        does: Repeated(ComposedLayout::flat_product),
    },
    Function {
        name: "flatten",
        doc: "The same function without nesting.",
        does: Modes(|a| Layout::flat(a.leaves())),
    },
    Function {
        name: "from_isl",
        doc: "The relation that a text in the notation of isl describes.",
        does: One(from_isl),
    },
    Function {
        name: "idx2crd",
        doc: "The coordinate of a colexicographic index in a shape.",
        does: Two(|shape, i| Ok(Value::from_tuple(&shape.tuple()?.index_to_coord(i.int()?)?))),
    },
    Function { name: "image", doc: "The set of the values of a relation or layout.", does: One(image) },
    Function { name: "intersection", doc: "The points that two relations share.", does: Two(intersection) },
    Function { name: "inverse", doc: "The inverse of a layout.", does: One(inverse) },
    Function {
        name: "is_injective",
        doc: "Whether a layout or relation takes no two coordinates to one index.",
        does: One(is_injective),
    },
    Function { name: "isl", doc: "A layout as a relation in the notation of isl.", does: One(relation) },
    Function {
        name: "left_inverse",
        doc: "The layout `r` with `r ∘ l` the identity.",
        does: One(left_inverse),
    },
    Function {
        name: "linear",
        doc: "A layout as a linear map of bits, or the linear map of these bases and outputs.",
        does: All(linear),
    },
    Function {
        name: "logical_divide",
        doc: "A layout divided by a tiler: tile and rest.",
        does: Two(divide),
    },
    Function { name: "logical_product", doc: "A layout repeated by another.", does: Two(product) },
    Function {
        name: "max_common_layout",
        doc: "The largest layout on which two agree as a vector.",
        does: Layouts(Layout::max_common_layout),
    },
    Function {
        name: "max_common_vector",
        doc: "The number of elements that are contiguous in both layouts.",
        does: Two(|a, b| Ok(Value::Int(plain(a)?.max_common_vector(&plain(b)?)?))),
    },
    Function { name: "mode", doc: "Mode `i` of a layout.", does: Two(mode) },
    Function {
        name: "nullspace",
        doc: "The layout of the coordinates that a layout takes to 0.",
        does: Does::Layout(|a| Ok(a.nullspace())),
    },
    Function { name: "product", doc: "A layout repeated by another.", does: Two(product) },
    Function {
        name: "raked_product",
        doc: "`a` repeated by `b`, interleaved.",
        does: Copies(ComposedLayout::raked_product),
    },
    Function { name: "range", doc: "The set of the values of a relation or layout.", does: One(image) },
    Function { name: "rank", doc: "The number of modes of a layout.", does: Number(|a| a.rank() as i64) },
    Function {
        name: "recast",
        doc: "A layout of elements of one width, in elements of another.",
        does: Three(recast_bits),
    },
    Function {
        name: "right_inverse",
        doc: "The layout `r` with `l ∘ r` the identity.",
        does: One(right_inverse),
    },
    Function {
        name: "row_major",
        doc: "The row-major layout of a shape.",
        does: One(|shape| Ok(Value::from_layout(Layout::row_major(shape.tuple()?)?))),
    },
    Function {
        name: "shape",
        doc: "The extents of a layout.",
        does: One(|a| Ok(Value::from_tuple(unswizzled(a)?.shape()))),
    },
    Function {
        name: "size",
        doc: "The number of elements of a layout or tensor, or of points of a relation.",
        does: One(size),
    },
    Function {
        name: "slice",
        doc: "A layout at a coordinate in which `_` keeps a mode, and the offset of the rest.",
        does: Two(slice),
    },
    Function {
        name: "stride",
        doc: "The strides of a layout.",
        does: One(|a| Ok(Value::from_tuple(plain(a)?.stride()))),
    },
    Function {
        name: "swizzle",
        doc: "`swizzle(bits, base, shift)`: exclusive or of address bits.",
        does: Three(swizzle),
    },
    Function { name: "table", doc: "Every index of a layout, in order.", does: One(table) },
    Function {
        name: "tile_to_shape",
        doc: "A layout repeated to a shape, along the modes in this order.",
        does: All(tile_to_shape),
    },
    Function {
        name: "tiled_divide",
        doc: "As `zipped_divide`, the modes of the rest beside the tile.",
        does: Divided(Layout::tiled_divide),
    },
    Function {
        name: "tiled_product",
        doc: "As `zipped_product`, the modes of the repetitions beside the layout.",
        does: Repeated(ComposedLayout::tiled_product),
    },
    Function {
        name: "to_layout",
        doc: "A linear map of bits, or a relation, as a layout.",
        does: One(to_layout),
    },
    Function { name: "union", doc: "The points of either of two relations.", does: Two(union) },
    Function { name: "upcast", doc: "A layout in elements `n` times as wide.", does: Two(upcast) },
    Function {
        name: "zipped_divide",
        doc: "A layout divided by a tiler, tiles in one mode and the rest in another.",
        does: Divided(Layout::zipped_divide),
    },
    Function {
        name: "zipped_product",
        doc: "A layout repeated by another, layout in one mode and repetitions in another.",
        does: Repeated(ComposedLayout::zipped_product),
    },
];

//! Products: a layout repeated as a second layout says.

use super::zip::{self, Pair};
use crate::{IntTuple, Layout, LayoutError, Tiler};

/// Returns the block and its repetitions: `(a, a* o t)`, where `a*` lists the starts of copies of `a` that fill the integers.
pub(super) fn block_and_copies(a: &Layout, t: &Layout) -> Result<(Layout, Layout), LayoutError> {
    let room = a.size().checked_mul(t.cosize()).ok_or(LayoutError::Overflow("the extent of the product"))?;
    let copies = a.complement(room)?.compose(t)?;
    Ok((a.clone(), copies))
}

impl Layout {
    /// Returns `(a, repetitions)`. The value at *(x, y)* is *self(x) + r*, where *r* is start number *t(y)*, in increasing order
    /// from 0, of the copies of `self` that fill the integers without overlap.
    ///
    /// # Errors
    /// If the tiler has too many modes, `self` has no complement, or the repetitions are no layout.
    pub fn logical_product(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::by_mode(self, tiler, &block_and_copies)
    }

    /// [`logical_product`](Self::logical_product) gathered as `((blocks...), (repetitions..., untouched...))`.
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn zipped_product(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::gather(self, tiler, &block_and_copies)?.zipped()
    }

    /// [`logical_product`](Self::logical_product) gathered as `((blocks...), repetition, ..., untouched...)`.
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn tiled_product(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::gather(self, tiler, &block_and_copies)?.tiled()
    }

    /// [`logical_product`](Self::logical_product) gathered as `(block, ..., repetition, ..., untouched...)`.
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn flat_product(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::gather(self, tiler, &block_and_copies)?.flat()
    }

    /// Returns the product with mode *k* of the block beside mode *k* of its repetitions, the block faster.
    ///
    /// The shorter of the two is padded to the same rank with `1:0`.
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn blocked_product(&self, b: &Layout) -> Result<Layout, LayoutError> {
        blocked(self, b, &block_and_copies)
    }

    /// As [`blocked_product`](Self::blocked_product), with the repetitions faster.
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn raked_product(&self, b: &Layout) -> Result<Layout, LayoutError> {
        raked(self, b, &block_and_copies)
    }

    /// Returns the layout of `shape` that is made of copies of `self`. The copies follow each other in memory, those along the
    /// mode with the least entry of `order` first. Without an order, the copies along mode 0 come first.
    ///
    /// `(8,64):(64,1)` to `(16,128)` is `((8,2),(64,2)):((64,512),(1,1024))`. This is CuTe's `tile_to_shape`.
    ///
    /// # Errors
    /// If `self` has more modes than the shape, or a size does not divide that of the shape; if `order` has not one entry for
    /// each mode; and as for [`logical_product`](Self::logical_product).
    pub fn tile_to_shape(&self, shape: &IntTuple, order: Option<&IntTuple>) -> Result<Layout, LayoutError> {
        tiled_to(self, shape, order, &block_and_copies)
    }
}

/// Computes a blocked product whose pairs of block and copies `pair` makes.
pub(super) fn blocked(a: &Layout, b: &Layout, pair: Pair<'_>) -> Result<Layout, LayoutError> {
    let modes = mode_pairs(a, b, pair)?.into_iter().map(|(block, copies)| Layout::concat(&[block, copies]));
    Layout::concat(&modes.collect::<Result<Vec<_>, _>>()?)
}

/// As [`blocked`], with the copies faster.
pub(super) fn raked(a: &Layout, b: &Layout, pair: Pair<'_>) -> Result<Layout, LayoutError> {
    let modes = mode_pairs(a, b, pair)?.into_iter().map(|(block, copies)| Layout::concat(&[copies, block]));
    Layout::concat(&modes.collect::<Result<Vec<_>, _>>()?)
}

/// As [`Layout::tile_to_shape`], with the pairs of block and copies that `pair` makes.
pub(super) fn tiled_to(
    a: &Layout,
    shape: &IntTuple,
    order: Option<&IntTuple>,
    pair: Pair<'_>,
) -> Result<Layout, LayoutError> {
    let rank = shape.rank();
    if a.rank() > rank {
        return Err(LayoutError::Rank { what: "the tile", given: a.rank(), limit: rank });
    }
    let mut blocks = a.modes();
    blocks.resize(rank, Layout::unit());
    let mut counts = Vec::with_capacity(rank);
    for (i, (block, entry)) in blocks.iter().zip(shape.entries()).enumerate() {
        let (tile, whole) = (block.size(), entry.product()?);
        if whole < 1 {
            return Err(LayoutError::Extent(whole));
        }
        if whole % tile != 0 {
            return Err(LayoutError::Tile { layout: a.clone(), shape: shape.clone(), mode: i, tile, whole });
        }
        counts.push(whole / tile);
    }
    let modes = blocked(&Layout::concat(&blocks)?, &ordered(&counts, order)?, pair)?.modes();
    let modes: Vec<Layout> = modes.iter().map(Layout::coalesce).collect();
    match (shape, modes.as_slice()) {
        (IntTuple::Int(_), [only]) => Ok(only.clone()),
        _ => Layout::concat(&modes),
    }
}

/// Returns the compact layout of these extents in which the mode with the least entry of `order` is fastest; mode 0 without an
/// order.
fn ordered(extents: &[i64], order: Option<&IntTuple>) -> Result<Layout, LayoutError> {
    let ranks = order.map_or_else(|| (0..extents.len() as i64).collect(), IntTuple::leaves);
    if ranks.len() != extents.len() {
        return Err(LayoutError::Modes { what: "the shape", given: ranks.len(), wanted: extents.len() });
    }
    let mut places: Vec<usize> = (0..extents.len()).collect();
    places.sort_by_key(|&i| ranks[i]);
    let (mut strides, mut unit) = (vec![0; extents.len()], 1i64);
    for i in places {
        strides[i] = unit;
        unit = unit.checked_mul(extents[i]).ok_or(LayoutError::Overflow("the extent of the product"))?;
    }
    Layout::new(IntTuple::flat(extents), IntTuple::flat(&strides))
}

fn mode_pairs(a: &Layout, b: &Layout, pair: Pair<'_>) -> Result<Vec<(Layout, Layout)>, LayoutError> {
    let rank = a.rank().max(b.rank());
    let fill = |layout: &Layout| {
        let mut modes = layout.modes();
        modes.resize(rank, Layout::unit());
        modes
    };
    let blocks = fill(a);
    // The operand is a tuple even if `b` is a single integer, so that the modes of the composition stay those of `b`.
    let (_, copies) = pair(&Layout::concat(&blocks)?, &Layout::concat(&fill(b))?)?;
    Ok(blocks.into_iter().zip(copies.modes()).collect())
}

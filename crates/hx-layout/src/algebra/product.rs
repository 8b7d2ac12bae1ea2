//! Products: a layout repeated as a second layout says.

use super::zip;
use crate::{Layout, LayoutError, Tiler};

/// Returns the block and its repetitions: `(a, a* o t)`, where `a*` lists the starts of copies of `a` that fill the integers.
fn block_and_copies(a: &Layout, t: &Layout) -> Result<(Layout, Layout), LayoutError> {
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
        zip::by_mode(self, tiler, block_and_copies)
    }

    /// [`logical_product`](Self::logical_product) gathered as `((blocks...), (repetitions..., untouched...))`.
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn zipped_product(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::gather(self, tiler, block_and_copies)?.zipped()
    }

    /// [`logical_product`](Self::logical_product) gathered as `((blocks...), repetition, ..., untouched...)`.
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn tiled_product(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::gather(self, tiler, block_and_copies)?.tiled()
    }

    /// [`logical_product`](Self::logical_product) gathered as `(block, ..., repetition, ..., untouched...)`.
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn flat_product(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::gather(self, tiler, block_and_copies)?.flat()
    }

    /// Returns the product with mode *k* of the block beside mode *k* of its repetitions, the block faster.
    ///
    /// The shorter of the two is padded to the same rank with `1:0`.
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn blocked_product(&self, b: &Layout) -> Result<Layout, LayoutError> {
        let pairs = self.mode_pairs(b)?;
        let modes = pairs.into_iter().map(|(block, copies)| Layout::concat(&[block, copies]));
        Layout::concat(&modes.collect::<Result<Vec<_>, _>>()?)
    }

    /// As [`blocked_product`](Self::blocked_product), with the repetitions faster.
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn raked_product(&self, b: &Layout) -> Result<Layout, LayoutError> {
        let pairs = self.mode_pairs(b)?;
        let modes = pairs.into_iter().map(|(block, copies)| Layout::concat(&[copies, block]));
        Layout::concat(&modes.collect::<Result<Vec<_>, _>>()?)
    }

    fn mode_pairs(&self, b: &Layout) -> Result<Vec<(Layout, Layout)>, LayoutError> {
        let rank = self.rank().max(b.rank());
        let fill = |layout: &Layout| {
            let mut modes = layout.modes();
            modes.resize(rank, Layout::unit());
            modes
        };
        let blocks = fill(self);
        // The operand is a tuple even if `b` is a single integer, so that the modes of the composition stay those of `b`.
        let (_, copies) = block_and_copies(&Layout::concat(&blocks)?, &Layout::concat(&fill(b))?)?;
        Ok(blocks.into_iter().zip(copies.modes()).collect())
    }
}

//! Tiles, products and recasts of layouts that a swizzle follows.
//!
//! A divide reorders coordinates, so it acts on the layout before the swizzle. A product adds copies. They are copies of the
//! swizzled layout only if each begins at a multiple of the swizzle's period; other products are refused. A recast counts
//! indices in other units and moves the swizzle with them.

use super::product::{block_and_copies, blocked, raked, tiled_to};
use super::zip;
use crate::{ComposedLayout, IntTuple, Layout, LayoutError, Swizzle, Tiler};

impl ComposedLayout {
    /// Replaces the layout before offset and swizzle by a function of it.
    ///
    /// # Errors
    /// As for the function.
    pub fn try_map(
        &self,
        f: impl FnOnce(&Layout) -> Result<Layout, LayoutError>,
    ) -> Result<ComposedLayout, LayoutError> {
        Ok(ComposedLayout { layout: f(&self.layout)?, ..self.clone() })
    }

    /// As [`Layout::logical_divide`]. Offset and swizzle stay.
    ///
    /// # Errors
    /// As for [`Layout::logical_divide`].
    pub fn logical_divide(&self, tiler: &Tiler) -> Result<ComposedLayout, LayoutError> {
        self.try_map(|layout| layout.logical_divide(tiler))
    }

    /// Returns `(self, repetitions)`: the value at *(x, y)* is *self(x) + r*, where *r* is start number *t(y)* of the copies of the
    /// layout before the swizzle.
    ///
    /// # Errors
    /// If a copy does not begin at a multiple of [`Swizzle::period`], and as for [`Layout::logical_product`].
    pub fn logical_product(&self, tiler: &Tiler) -> Result<ComposedLayout, LayoutError> {
        self.try_map(|layout| zip::by_mode(layout, tiler, &|a, t| self.copies(a, t)))
    }

    /// As [`Layout::zipped_product`].
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn zipped_product(&self, tiler: &Tiler) -> Result<ComposedLayout, LayoutError> {
        self.try_map(|layout| zip::gather(layout, tiler, &|a, t| self.copies(a, t))?.zipped())
    }

    /// As [`Layout::tiled_product`].
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn tiled_product(&self, tiler: &Tiler) -> Result<ComposedLayout, LayoutError> {
        self.try_map(|layout| zip::gather(layout, tiler, &|a, t| self.copies(a, t))?.tiled())
    }

    /// As [`Layout::flat_product`].
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn flat_product(&self, tiler: &Tiler) -> Result<ComposedLayout, LayoutError> {
        self.try_map(|layout| zip::gather(layout, tiler, &|a, t| self.copies(a, t))?.flat())
    }

    /// As [`Layout::blocked_product`].
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn blocked_product(&self, b: &Layout) -> Result<ComposedLayout, LayoutError> {
        self.try_map(|layout| blocked(layout, b, &|a, t| self.copies(a, t)))
    }

    /// As [`Layout::raked_product`].
    ///
    /// # Errors
    /// As for [`logical_product`](Self::logical_product).
    pub fn raked_product(&self, b: &Layout) -> Result<ComposedLayout, LayoutError> {
        self.try_map(|layout| raked(layout, b, &|a, t| self.copies(a, t)))
    }

    /// As [`Layout::tile_to_shape`]: a swizzled atom of shared memory, repeated to the shape of a tile.
    ///
    /// # Errors
    /// As for [`Layout::tile_to_shape`] and [`logical_product`](Self::logical_product).
    pub fn tile_to_shape(
        &self,
        shape: &IntTuple,
        order: Option<&IntTuple>,
    ) -> Result<ComposedLayout, LayoutError> {
        self.try_map(|layout| tiled_to(layout, shape, order, &|a, t| self.copies(a, t)))
    }

    /// Returns block and copies of a product. Fails unless the swizzle acts on each copy as on the block.
    fn copies(&self, a: &Layout, t: &Layout) -> Result<(Layout, Layout), LayoutError> {
        let (block, copies) = block_and_copies(a, t)?;
        let period = self.swizzle.period();
        if copies.leaves().iter().any(|&(extent, stride)| extent > 1 && stride % period != 0) {
            return Err(LayoutError::SwizzledCopies {
                layout: self.source_form(),
                inner: Box::new(self.layout.clone()),
                swizzle: self.swizzle.source_form(),
                copies: Box::new(copies),
                period,
            });
        }
        Ok((block, copies))
    }

    /// As [`Layout::upcast`]: converts values to units of `n` elements. The swizzle's base falls by log2 of `n`.
    ///
    /// # Errors
    /// As for [`Layout::upcast`]; if the offset is no multiple of `n`; and, if there is a swizzle, if `n` is no power of two or
    /// the swizzle reads or changes a bit inside a unit.
    pub fn upcast(&self, n: i64) -> Result<ComposedLayout, LayoutError> {
        let layout = self.layout.upcast(n)?;
        if self.offset % n != 0 {
            return self.no_recast(format!("the offset {} is no multiple of {n} elements", self.offset));
        }
        let (bits, base, shift) = (self.swizzle.bits(), self.swizzle.base(), self.swizzle.shift());
        let swizzle = match self.bits_of_unit(n)? {
            _ if self.swizzle.is_identity() => self.swizzle,
            unit if unit <= base => Swizzle::new(bits, base - unit, shift)?,
            _ => {
                let what = if shift < 0 { "reads" } else { "changes" };
                return self.no_recast(format!(
                    "the swizzle {what} bit {base} of the index, inside a unit of {n} elements"
                ));
            }
        };
        Ok(ComposedLayout { swizzle, offset: self.offset / n, layout })
    }

    /// As [`Layout::downcast`]: converts values to units of an `n`-th of an element. The swizzle's base rises by log2 of `n`.
    ///
    /// # Errors
    /// As for [`Layout::downcast`]; if the offset does not fit; and if there is a swizzle, and `n` is no power of two.
    pub fn downcast(&self, n: i64) -> Result<ComposedLayout, LayoutError> {
        let layout = self.layout.downcast(n)?;
        let offset = self.offset.checked_mul(n).ok_or(LayoutError::Overflow("the offset"))?;
        let unit = self.bits_of_unit(n)?;
        let swizzle = match self.swizzle.is_identity() {
            true => self.swizzle,
            false => Swizzle::new(self.swizzle.bits(), self.swizzle.base() + unit, self.swizzle.shift())?,
        };
        Ok(ComposedLayout { swizzle, offset, layout })
    }

    /// As [`Layout::recast`]: converts indices of elements of `old_bits` bits to indices of elements of `new_bits` bits.
    ///
    /// # Errors
    /// As for [`upcast`](Self::upcast) and [`downcast`](Self::downcast), and when a width is below 1.
    pub fn recast(&self, old_bits: i64, new_bits: i64) -> Result<ComposedLayout, LayoutError> {
        let (up, down) = super::recast::factors(old_bits, new_bits)?;
        self.upcast(up)?.downcast(down)
    }

    /// Returns log2 of a factor; 0 without a swizzle, which no factor tears apart.
    fn bits_of_unit(&self, n: i64) -> Result<u32, LayoutError> {
        if self.swizzle.is_identity() {
            return Ok(0);
        }
        match n.count_ones() {
            1 => Ok(n.trailing_zeros()),
            _ => self.no_recast(format!("the swizzle moves bits, and the factor {n} is no power of two")),
        }
    }

    fn no_recast<T>(&self, why: String) -> Result<T, LayoutError> {
        Err(LayoutError::SwizzledRecast { layout: self.source_form(), why })
    }
}

//! Inverses and complements of layouts that a swizzle follows.
//!
//! A swizzle is a permutation that undoes itself. The inverse of `swizzle ∘ layout` is therefore the inverse of the layout after
//! the same swizzle. The complement takes the swizzle along if the swizzle reads bits that only the complement sets.

use super::check_count;
use crate::{AfterSwizzle, ComposedLayout, Layout, LayoutError, LinearLayout, Swizzle};

impl ComposedLayout {
    /// Returns *R* with *self(R(i)) = i* for each *i* below its size: the right inverse of the layout, after the swizzle.
    ///
    /// # Errors
    /// If there is an offset.
    pub fn right_inverse(&self) -> Result<AfterSwizzle, LayoutError> {
        self.no_offset("a right inverse")?;
        Ok(AfterSwizzle { layout: self.layout.right_inverse(), swizzle: self.swizzle })
    }

    /// Returns *R* with *R(self(c)) = c* for each coordinate *c*: the left inverse of the layout, after the swizzle. Values of
    /// *R* off the image have no meaning.
    ///
    /// # Errors
    /// If there is an offset, and as for [`Layout::left_inverse`].
    pub fn left_inverse(&self) -> Result<AfterSwizzle, LayoutError> {
        self.no_offset("a left inverse")?;
        Ok(AfterSwizzle { layout: self.layout.left_inverse()?, swizzle: self.swizzle })
    }

    /// Returns the layout *R* whose values begin the copies of `self` that fill the integers below *m*. *m* is `cotarget`
    /// rounded up as for [`Layout::complement`].
    ///
    /// Let *C* be the complement of the layout. `swizzle ∘ (layout, C)` reaches each integer below *m* once, so its second mode
    /// begins the copies. They are one of two kinds:
    ///
    /// - *C* takes multiples of a power of two above all bits that the swizzle reads or changes. The copies are moved, *self(c) +
    ///   R(j)*, and *R* is *C* without a swizzle.
    /// - The values of the layout and of *C* share no bit. The copies are *self(c) ^ R(j)*, and *R* is `swizzle ∘ C`; without
    ///   the swizzle if it changes nothing there.
    ///
    /// # Errors
    /// If there is an offset, the copies are of neither kind, or the swizzle leaves the integers below *m*; and as for
    /// [`Layout::complement`].
    pub fn complement(&self, cotarget: i64) -> Result<ComposedLayout, LayoutError> {
        self.no_offset("a complement")?;
        let starts = self.layout.complement(cotarget)?;
        if self.swizzle.is_identity() {
            return Ok(ComposedLayout::plain(starts));
        }
        let fail = |why| Err(LayoutError::NoSwizzledComplement { layout: self.source_form(), why });
        let size = self.layout.filter().size().checked_mul(starts.size());
        let size = size.ok_or(LayoutError::Overflow("the extent of the complement"))?;
        let beyond = self.swizzle.first_beyond(size);
        if beyond != size {
            let to = self.swizzle.apply(beyond);
            return fail(format!(
                "the layout and its copies fill 0..{size}, and the swizzle takes {beyond} beyond, to {to}"
            ));
        }
        let period = self.swizzle.period();
        if starts.leaves().iter().all(|&(extent, stride)| extent == 1 || stride % period == 0) {
            return Ok(ComposedLayout::plain(starts));
        }
        let (own, others) = (bits_of(&self.layout)?, bits_of(&starts)?);
        if own & others != 0 {
            let bit = (own & others).trailing_zeros();
            return fail(format!(
                "values of the layout and of its complement `{starts}` both have bit {bit}, so the copies are neither sums nor exclusive ors"
            ));
        }
        let moved = others & self.swizzle.source_mask() != 0;
        let swizzle = if moved { self.swizzle } else { Swizzle::identity() };
        Ok(ComposedLayout::swizzled(swizzle, starts))
    }

    fn no_offset(&self, what: &'static str) -> Result<(), LayoutError> {
        match self.offset {
            0 => Ok(()),
            offset => Err(LayoutError::Offset { what, layout: self.source_form(), offset }),
        }
    }
}

/// Returns the mask of the bits that are set in some value of the layout.
fn bits_of(layout: &Layout) -> Result<i64, LayoutError> {
    if let Ok(linear) = LinearLayout::from_layout(layout) {
        return Ok(linear.columns().iter().fold(0, |all, v| all | v) as i64);
    }
    check_count("the bits of the values", layout.size())?;
    Ok(layout.table().fold(0, |all, v| all | v))
}

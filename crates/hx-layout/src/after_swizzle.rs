//! Layouts after a swizzle, the form of the inverses of swizzled layouts.

use crate::algebra::coalesce::coalesced;
use crate::{ComposedLayout, Layout, LayoutError, LinearLayout, Swizzle};

/// A swizzle, then a layout: `i` maps to `layout(swizzle(i))`. Inverses of swizzled layouts have this form.
///
/// Its coordinates are integers. It has a value wherever the swizzle takes the coordinate into the layout.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AfterSwizzle {
    pub layout: Layout,
    pub swizzle: Swizzle,
}

impl AfterSwizzle {
    /// Returns the number of coordinates from 0 before the first without a value. It is the size of the layout iff the swizzle
    /// permutes the coordinates of the layout.
    pub fn size(&self) -> i64 {
        self.swizzle.first_beyond(self.layout.size())
    }

    /// Returns the value at a coordinate.
    ///
    /// # Errors
    /// If there is none.
    pub fn try_eval(&self, i: i64) -> Result<i64, LayoutError> {
        let c = self.swizzle.apply(i);
        if i < 0 || c >= self.layout.size() {
            return Err(LayoutError::Coordinate { coord: i.to_string(), shape: self.layout.shape().clone() });
        }
        self.layout.try_eval(c)
    }

    /// Returns the same function as `swizzle' ∘ layout`. It exists if the layout maps each bit that the swizzle reads or
    /// changes to one bit of the index and keeps both runs of bits together; otherwise the result is `None`.
    pub fn carried(&self) -> Option<ComposedLayout> {
        let composed = |swizzle| Some(ComposedLayout::swizzled(swizzle, self.layout.clone()));
        if self.size() != self.layout.size() {
            return None;
        }
        if self.swizzle.is_identity() {
            return composed(Swizzle::identity());
        }
        if coalesced(self.layout.leaves()) == [(self.layout.size(), 1)] {
            return composed(self.swizzle);
        }
        let columns = LinearLayout::from_layout(&self.layout).ok()?.columns();
        let (sources, targets) = (self.swizzle.source_mask(), self.swizzle.target_mask());
        let (source, target) = (sources.trailing_zeros(), targets.trailing_zeros());
        // Bits beyond the layout are 0 and change nothing.
        let pairs: Vec<(u64, u64)> = (0..self.swizzle.bits())
            .map_while(|b| Some((*columns.get((source + b) as usize)?, *columns.get((target + b) as usize)?)))
            .collect();
        let Some(&(first_source, first_target)) = pairs.first() else { return composed(Swizzle::identity()) };
        let runs = pairs
            .iter()
            .enumerate()
            .all(|(b, &(source, target))| source == first_source << b && target == first_target << b);
        if !runs || !first_source.is_power_of_two() || !first_target.is_power_of_two() {
            return None;
        }
        let (source, target) = (first_source.trailing_zeros(), first_target.trailing_zeros());
        let shift = source as i32 - target as i32;
        composed(Swizzle::new(pairs.len() as u32, source.min(target), shift).ok()?)
    }

    /// Returns the form in the notation: `(8,3):(3,1) ∘ swizzle<1, 0, 1>`.
    pub fn source_form(&self) -> String {
        format!("{} ∘ {}", self.layout, self.swizzle.source_form())
    }
}

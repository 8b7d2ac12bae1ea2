//! Right and left inverses of layouts, made of the layout's own modes in order of stride.

use super::coalesce::coalesced;
use crate::layout::Mode;
use crate::{Layout, LayoutError};

/// A mode with the 1-D coordinate of its first step.
struct Placed {
    extent: i64,
    stride: i64,
    unit: i64,
}

/// Returns the coalesced modes without those of stride 0, in order of stride.
fn by_stride(layout: &Layout) -> Vec<Placed> {
    let mut unit = 1;
    let mut out = Vec::new();
    for (extent, stride) in coalesced(layout.leaves()) {
        if stride != 0 {
            out.push(Placed { extent, stride, unit });
        }
        unit *= extent;
    }
    out.sort_by_key(|m| (m.stride, m.extent));
    out
}

impl Layout {
    /// Returns the layout *R* with *R(self(c)) = c* and *self(R(i)) = i*.
    ///
    /// *R* has top-level modes of the sizes of `self`, if whole modes make them: the inverse of `((4,8),(2,4)):((64,1),(32,8))` is
    /// `((8,4),(2,4)):((4,64),(32,1))`, a function of 32 by 8 coordinates (Hexcute, appendix C). Otherwise it is flat, with the
    /// fewest modes: the inverse of `(4,8):(8,1)` is `(8,4):(4,1)`.
    ///
    /// # Errors
    /// If `self` is not a permutation of the integers below its size.
    pub fn inverse(&self) -> Result<Layout, LayoutError> {
        let flat = self.right_inverse();
        let (size, reach) = (self.size(), flat.size());
        if size != reach {
            return Err(LayoutError::NotAPermutation { layout: self.clone(), size, reach });
        }
        Ok(self.profiled_inverse().unwrap_or(flat))
    }

    /// Returns the inverse of a permutation with the top-level sizes of `self`; `None` for one mode, or if a mode lies across
    /// two of them.
    fn profiled_inverse(&self) -> Option<Layout> {
        let (mut unit, mut modes) = (1, Vec::new());
        for &(extent, stride) in self.leaves().iter().filter(|mode| mode.0 > 1) {
            modes.push(Placed { extent, stride, unit });
            unit *= extent;
        }
        modes.sort_by_key(|mode| mode.stride);
        let mut rest = modes.iter().map(|mode| (mode.extent, mode.unit));
        let mut group = |wanted: i64| {
            let (mut size, mut own) = (1, Vec::new());
            while size < wanted {
                let mode: Mode = rest.next()?;
                size *= mode.0;
                own.push(mode);
            }
            (size == wanted).then(|| Layout::flat(&coalesced(&own)).ok()).flatten()
        };
        let groups = self.modes().iter().map(|mode| group(mode.size())).collect::<Option<Vec<_>>>()?;
        (groups.len() > 1).then(|| Layout::concat(&groups).ok()).flatten()
    }

    /// Returns the largest layout *R*, made of whole modes, with *self(R(i)) = i* for each *i* below its size.
    ///
    /// Skips stride-0 modes, whose coordinate stays 0. Returns `1:0` if nothing can be inverted.
    pub fn right_inverse(&self) -> Layout {
        let mut modes: Vec<Mode> = Vec::new();
        let mut reached = 1i64;
        for mode in by_stride(self) {
            if mode.stride == reached {
                modes.push((mode.extent, mode.unit));
                // A product that exceeds an `i64` exceeds every stride, so it may saturate.
                reached = reached.saturating_mul(mode.extent);
            }
        }
        Layout::flat(&coalesced(&modes)).unwrap_or_else(|_| Layout::unit())
    }

    /// Returns a layout *R* with *R(self(c)) = c* for each coordinate *c*. Its values off the image have no meaning. If copies of
    /// the modes fill a gap between two strides, their values are coordinates past the last one, so that *R* takes no value
    /// twice.
    ///
    /// If `self` has stride-0 modes, no such layout exists. The result then keeps their coordinate at 0, so that
    /// *self(R(self(c))) = self(c)*.
    ///
    /// # Errors
    /// If modes of other strides take an index twice, or a stride is negative. Also if a stride does not divide the next larger
    /// one: an inverse of such a layout, if it exists, does not follow its modes, and is not searched.
    pub fn left_inverse(&self) -> Result<Layout, LayoutError> {
        if self.has_negative_stride() {
            return Err(LayoutError::NegativeStride { what: "a left inverse", layout: self.clone() });
        }
        let placed = by_stride(self);
        let mut modes: Vec<Mode> = Vec::with_capacity(2 * placed.len() + 1);
        // The first coordinate that is not used yet. A gap for which no `i64` is left holds 0.
        let mut fresh = self.size();
        let mut gap = |extent: i64| match fresh.checked_mul(extent) {
            Some(next) => (extent, std::mem::replace(&mut fresh, next)),
            None => (extent, 0),
        };
        if let Some(first) = placed.first() {
            modes.push(gap(first.stride));
        }
        for (i, mode) in placed.iter().enumerate() {
            let Some(next) = placed.get(i + 1) else {
                modes.push((mode.extent, mode.unit));
                continue;
            };
            let room = next.stride / mode.stride;
            if next.stride % mode.stride != 0 || room < mode.extent {
                return Err(self.no_inverse(mode, next));
            }
            if room % mode.extent == 0 {
                modes.extend([(mode.extent, mode.unit), gap(room / mode.extent)]);
            } else {
                modes.push((room, mode.unit));
            }
        }
        Layout::flat(&coalesced(&modes))
    }

    fn no_inverse(&self, mode: &Placed, next: &Placed) -> LayoutError {
        match self.filter().is_injective() {
            Ok(false) => LayoutError::NotInjective(self.clone()),
            _ => LayoutError::NoInverse {
                layout: self.clone(),
                why: format!(
                    "its stride {} does not lie clear of {}:{}",
                    next.stride, mode.extent, mode.stride
                ),
            },
        }
    }
}

//! The kernel of a layout, and the largest layout that two layouts share.

use super::coalesce::coalesced;
use super::compose::Radix;
use crate::layout::Mode;
use crate::{Layout, LayoutError};

/// Returns the coalesced modes, each with the 1-D coordinate of its first step.
fn units(layout: &Layout) -> Vec<(Mode, i64)> {
    let mut unit = 1;
    let place = |mode: Mode| {
        let here = unit;
        unit *= mode.0;
        (mode, here)
    };
    coalesced(layout.leaves()).into_iter().map(place).collect()
}

impl Layout {
    /// Returns an injective layout whose values `self` maps to 0: the steps along its stride-0 modes.
    pub fn nullspace(&self) -> Layout {
        let zero = units(self).into_iter().filter(|(mode, _)| mode.1 == 0);
        let modes: Vec<Mode> = zero.map(|((extent, _), unit)| (extent, unit)).collect();
        Layout::flat(&coalesced(&modes)).unwrap_or_else(|_| Layout::unit())
    }

    /// Returns the largest layout *R* with *self(R(i)) = b(R(i)) = i* for each *i* below its size.
    ///
    /// # Errors
    /// If the search among equal strides exceeds the limit. Ordinary layouts do not reach it.
    pub fn max_common_layout(&self, b: &Layout) -> Result<Layout, LayoutError> {
        let mut steps: Vec<i64> = units(self).into_iter().chain(units(b)).map(|(_, unit)| unit).collect();
        steps.sort_unstable();
        steps.dedup();
        let sides = [Radix::new(self), Radix::new(b)];
        let end = self.size().min(b.size());
        let mut search =
            Search { sides, end, steps, chosen: Vec::new(), best: Vec::new(), best_size: 1, tried: 0 };
        search.extend(1, 0)?;
        Layout::flat(&coalesced(&search.best))
    }

    /// Returns the size of [`max_common_layout`](Self::max_common_layout): how many elements can move at once from one layout to
    /// the other.
    ///
    /// # Errors
    /// As for [`max_common_layout`](Self::max_common_layout).
    pub fn max_common_vector(&self, b: &Layout) -> Result<i64, LayoutError> {
        Ok(self.max_common_layout(b)?.size())
    }
}

/// A search over the steps at which a mode of the common layout may start.
///
/// If no stride occurs twice, each level has one candidate, and the search is linear.
struct Search {
    sides: [Radix; 2],
    /// The largest coordinate of both layouts, plus one.
    end: i64,
    steps: Vec<i64>,
    chosen: Vec<Mode>,
    best: Vec<Mode>,
    best_size: i64,
    tried: i64,
}

impl Search {
    /// Tries every next mode, and keeps the largest result in `best`. The indices below `reached` are common so far, and `top`
    /// is the largest coordinate used.
    fn extend(&mut self, reached: i64, top: i64) -> Result<(), LayoutError> {
        if reached > self.best_size {
            self.best_size = reached;
            self.best = self.chosen.clone();
        }
        for i in 0..self.steps.len() {
            self.tried += 1;
            super::check_count("the search for the largest common layout", self.tried)?;
            let step = self.steps[i];
            let fits = step < self.end && self.sides.iter().all(|side| side.eval(step) == Ok(reached));
            if !fits {
                continue;
            }
            // Takes as many steps as carry in neither layout on top of the modes chosen so far; without carries, indices add up.
            let room = self.sides.iter().map(|side| side.room(top, step)).min().unwrap_or(0);
            let extent = room.min((self.end - 1 - top) / step).saturating_add(1);
            if extent > 1 {
                self.chosen.push((extent, step));
                self.extend(reached * extent, top + step * (extent - 1))?;
                self.chosen.pop();
            }
        }
        Ok(())
    }
}

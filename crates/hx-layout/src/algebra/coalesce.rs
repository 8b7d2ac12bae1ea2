//! Reduces the modes of a function: `coalesce`, `coalesce_by`, `filter`, and the equality of functions that follows.

use crate::layout::Mode;
use crate::{IntTuple, Layout, LayoutError};

/// Returns the fewest plain modes with the same function of 1-D coordinates inside the domain; none for a size of 1.
///
/// The result is unique. Its first extent is the first coordinate at which the function is no longer a multiple of the
/// coordinate; the same argument applies to each following mode.
pub(crate) fn coalesced(modes: &[Mode]) -> Vec<Mode> {
    let mut out: Vec<Mode> = Vec::with_capacity(modes.len());
    for &(extent, stride) in modes {
        if extent == 1 {
            continue;
        }
        match out.last_mut() {
            Some(last) if last.0.checked_mul(last.1) == Some(stride) => last.0 *= extent,
            _ => out.push((extent, stride)),
        }
    }
    out
}

/// As [`coalesced`], for the function with its last mode open. The extent of the last entry has no meaning.
pub(crate) fn coalesced_open(modes: &[Mode]) -> Vec<Mode> {
    let Some((&(_, open), bounded)) = modes.split_last() else { return vec![(1, 0)] };
    let mut out = coalesced(bounded);
    match out.last() {
        Some(&(s, d)) if s.checked_mul(d) == Some(open) => {}
        _ => out.push((i64::MAX, open)),
    }
    out
}

/// Reports whether two layouts are the same function of 1-D coordinates: same size, and same index everywhere.
///
/// Decided exactly by coalescing, without enumeration.
pub fn equal_function(a: &Layout, b: &Layout) -> bool {
    coalesced(a.leaves()) == coalesced(b.leaves())
}

impl Layout {
    /// Returns the same function of 1-D coordinates, flat, with the fewest modes; `1:0` for a size of 1.
    pub fn coalesce(&self) -> Layout {
        // Merging keeps size and span, so the checks of the constructor cannot fail.
        Layout::flat(&coalesced(self.leaves())).unwrap_or_else(|_| self.clone())
    }

    /// Coalesces each mode at which `profile` has an integer; the integers' values are ignored. Modes past the profile stay.
    ///
    /// # Errors
    /// If the profile has more modes than the layout somewhere.
    pub fn coalesce_by(&self, profile: &IntTuple) -> Result<Layout, LayoutError> {
        let IntTuple::Tuple(marks) = profile else { return Ok(self.coalesce()) };
        if marks.len() > self.rank() {
            return Err(LayoutError::Rank { what: "the profile", given: marks.len(), limit: self.rank() });
        }
        let mut modes = self.modes();
        for (mode, mark) in modes.iter_mut().zip(marks) {
            *mode = mode.coalesce_by(mark)?;
        }
        Layout::concat(&modes)
    }

    /// Returns the layout without its stride-0 and size-1 modes, coalesced.
    pub fn filter(&self) -> Layout {
        let kept: Vec<Mode> = self.leaves().iter().copied().filter(|m| m.1 != 0).collect();
        Layout::flat(&coalesced(&kept)).unwrap_or_else(|_| Layout::unit())
    }

    /// Reports whether the layout takes no index twice.
    ///
    /// # Errors
    /// If modes interlock, so that only enumeration decides, and the size exceeds the enumeration limit.
    pub fn is_injective(&self) -> Result<bool, LayoutError> {
        let mut modes = coalesced(self.leaves());
        if modes.iter().any(|m| m.1 == 0) {
            return Ok(false);
        }
        modes.iter_mut().for_each(|m| m.1 = m.1.abs());
        modes.sort_by_key(|m| m.1);
        let mut reach = 0;
        let nested = modes.iter().all(|&(s, d)| {
            let above = d > reach;
            reach += d * (s - 1);
            above
        });
        if nested {
            return Ok(true);
        }
        super::check_count("deciding whether a value is taken twice", self.size())?;
        let mut indices: Vec<i64> = self.table().collect();
        indices.sort_unstable();
        Ok(indices.windows(2).all(|w| w[0] != w[1]))
    }
}

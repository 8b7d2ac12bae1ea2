//! The common part of divides and products by mode: each mode becomes a pair, and the pairs are gathered.
//!
//! This module knows neither divides nor products; the caller supplies the pair.

use crate::{Layout, LayoutError, Tiler};

/// Makes the two parts from one mode and one layout of the tiler.
pub(crate) type Pair<'a> = &'a dyn Fn(&Layout, &Layout) -> Result<(Layout, Layout), LayoutError>;

/// The parts of all modes.
pub(crate) struct Zipped {
    /// The first parts: tiles, or copies of the block.
    pub(crate) tiles: Vec<Layout>,
    /// The second parts: rests, or repetitions.
    pub(crate) rests: Vec<Layout>,
    /// Modes that the tiler does not reach, or keeps.
    pub(crate) untouched: Vec<Layout>,
    /// Whether the tiler was a single layout. Then there is one tile and one rest, and neither is a list.
    whole: bool,
}

/// Checks that the tiler has at most as many entries as the layout has modes.
pub(crate) fn check_rank(layout: &Layout, entries: &[Tiler]) -> Result<(), LayoutError> {
    if entries.len() > layout.rank() {
        return Err(LayoutError::Rank { what: "the tiler", given: entries.len(), limit: layout.rank() });
    }
    Ok(())
}

/// Replaces each mode that the tiler reaches by its pair, at any depth, and keeps the others: the `logical_` form.
pub(crate) fn by_mode(a: &Layout, tiler: &Tiler, pair: Pair<'_>) -> Result<Layout, LayoutError> {
    match tiler {
        Tiler::Keep => Ok(a.clone()),
        Tiler::Layout(t) => {
            let (first, second) = pair(a, t)?;
            Layout::concat(&[first, second])
        }
        Tiler::Modes(entries) => {
            check_rank(a, entries)?;
            let mut modes = a.modes();
            for (mode, entry) in modes.iter_mut().zip(entries) {
                *mode = by_mode(mode, entry, pair)?;
            }
            Layout::concat(&modes)
        }
    }
}

/// Gathers the pairs of all modes.
pub(crate) fn gather(a: &Layout, tiler: &Tiler, pair: Pair<'_>) -> Result<Zipped, LayoutError> {
    let mut out = Zipped { tiles: Vec::new(), rests: Vec::new(), untouched: Vec::new(), whole: false };
    match tiler {
        Tiler::Keep => out.untouched.push(a.clone()),
        Tiler::Layout(t) => {
            let (first, second) = pair(a, t)?;
            out.tiles.push(first);
            out.rests.push(second);
            out.whole = true;
        }
        Tiler::Modes(entries) => {
            check_rank(a, entries)?;
            for (i, mode) in a.modes().into_iter().enumerate() {
                match entries.get(i) {
                    None | Some(Tiler::Keep) => out.untouched.push(mode),
                    Some(entry) => {
                        let inner = gather(&mode, entry, pair)?;
                        let (first, second) = inner.halves()?;
                        out.tiles.push(first);
                        out.rests.push(second);
                    }
                }
            }
        }
    }
    Ok(out)
}

impl Zipped {
    fn halves(&self) -> Result<(Layout, Layout), LayoutError> {
        if self.whole {
            return Ok((self.tiles[0].clone(), self.rests[0].clone()));
        }
        let rest: Vec<Layout> = self.rests.iter().chain(&self.untouched).cloned().collect();
        Ok((Layout::concat(&self.tiles)?, Layout::concat(&rest)?))
    }

    /// Returns `((tiles...), (rests..., untouched...))`.
    pub(crate) fn zipped(&self) -> Result<Layout, LayoutError> {
        let (first, second) = self.halves()?;
        Layout::concat(&[first, second])
    }

    /// Returns the modes of each part. The tile or the rest of a single layout is a list of its own modes.
    fn modes(&self, parts: &[Layout]) -> Vec<Layout> {
        if self.whole { parts.iter().flat_map(Layout::modes).collect() } else { parts.to_vec() }
    }

    /// Returns `((tiles...), rest, ..., untouched...)`.
    pub(crate) fn tiled(&self) -> Result<Layout, LayoutError> {
        let mut modes = vec![self.halves()?.0];
        modes.extend(self.modes(&self.rests));
        modes.extend(self.untouched.iter().cloned());
        Layout::concat(&modes)
    }

    /// Returns `(tile, ..., rest, ..., untouched...)`.
    pub(crate) fn flat(&self) -> Result<Layout, LayoutError> {
        let mut modes = self.modes(&self.tiles);
        modes.extend(self.modes(&self.rests));
        modes.extend(self.untouched.iter().cloned());
        Layout::concat(&modes)
    }
}

//! Divides: a layout seen as tiles, and the rest, which enumerates the tiles.

use super::zip;
use crate::{Layout, LayoutError, Tiler};

/// Returns the tile's part of `a` and the rest: `a` after `(t, t*)`, where `t*` completes `t` up to the size of `a`.
fn tile_and_rest(a: &Layout, t: &Layout) -> Result<(Layout, Layout), LayoutError> {
    let rest = t.complement(a.size())?;
    let both = a.compose(&Layout::concat(&[t.clone(), rest])?)?;
    Ok((both.mode(0), both.mode(1)))
}

impl Layout {
    /// Returns `(tile, rest)`. The value at tile coordinate *x* and rest coordinate *y* is *self(t(x) + t\*(y))*. With `<...>`,
    /// each mode becomes its own `(tile, rest)`.
    ///
    /// A tile that does not divide the size runs past the end, with the last mode open.
    ///
    /// # Errors
    /// If the tiler has too many modes, its layouts have no complement, or the result is no layout.
    pub fn logical_divide(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::by_mode(self, tiler, &tile_and_rest)
    }

    /// [`logical_divide`](Self::logical_divide) gathered as `((tiles...), (rests..., untouched...))`.
    ///
    /// # Errors
    /// As for [`logical_divide`](Self::logical_divide).
    pub fn zipped_divide(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::gather(self, tiler, &tile_and_rest)?.zipped()
    }

    /// [`logical_divide`](Self::logical_divide) gathered as `((tiles...), rest, ..., untouched...)`.
    ///
    /// # Errors
    /// As for [`logical_divide`](Self::logical_divide).
    pub fn tiled_divide(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::gather(self, tiler, &tile_and_rest)?.tiled()
    }

    /// [`logical_divide`](Self::logical_divide) gathered as `(tile, ..., rest, ..., untouched...)`.
    ///
    /// # Errors
    /// As for [`logical_divide`](Self::logical_divide).
    pub fn flat_divide(&self, tiler: &Tiler) -> Result<Layout, LayoutError> {
        zip::gather(self, tiler, &tile_and_rest)?.flat()
    }
}

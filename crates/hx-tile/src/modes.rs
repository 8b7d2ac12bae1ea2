//! Reads modes of a layout as steps along the dimensions of a tile.
//!
//! A thread-value layout maps to the colexicographic index of a tile, but most questions concern coordinates: which
//! dimension does a mode walk, and how far? [`tile_modes`] answers this for every mode. It splits a mode that runs over the
//! end of a dimension.

use hx_layout::{Layout, LayoutError};

/// `extent` steps, each of `strides[d]` along dimension `d` of the tile.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TileMode {
    pub extent: i64,
    pub strides: Vec<i64>,
}

impl TileMode {
    /// Makes a mode of `extent` steps. `strides[d]` is the step along dimension `d`, in elements.
    pub fn new(extent: i64, strides: Vec<i64>) -> TileMode {
        TileMode { extent, strides }
    }

    /// Reports whether every step stays at the same element.
    pub fn is_still(&self) -> bool {
        self.strides.iter().all(|s| *s == 0)
    }

    /// Returns the dimension that the mode walks and its stride; `None` if it walks none or several.
    pub fn along(&self) -> Option<(usize, i64)> {
        let mut moving = self.strides.iter().enumerate().filter(|(_, s)| **s != 0);
        match (moving.next(), moving.next()) {
            (Some((d, s)), None) => Some((d, *s)),
            _ => None,
        }
    }
}

/// Returns the coordinate of a colexicographic index.
pub fn coordinate(index: i64, tile: &[i64]) -> Vec<i64> {
    let mut rest = index;
    tile.iter()
        .map(|extent| {
            let c = rest % extent;
            rest /= extent;
            c
        })
        .collect()
}

/// Returns the colexicographic index of a coordinate.
pub fn index(coordinate: &[i64], tile: &[i64]) -> i64 {
    coordinate.iter().zip(tile).rev().fold(0, |i, (c, extent)| i * extent + c)
}

/// Returns the modes of `layout`, flat, as steps in the tile; `None` if a mode runs unevenly over the end of a dimension.
pub fn tile_modes(layout: &Layout, tile: &[i64]) -> Option<Vec<TileMode>> {
    let mut out = Vec::new();
    for &(extent, stride) in layout.leaves() {
        split_mode(extent, stride, tile, &mut out)?;
    }
    Some(out)
}

fn split_mode(extent: i64, stride: i64, tile: &[i64], out: &mut Vec<TileMode>) -> Option<()> {
    let step = coordinate(stride, tile);
    let fits = |n: i64| step.iter().zip(tile).all(|(s, t)| s * (n - 1) < *t);
    if extent == 1 || fits(extent) {
        out.push(TileMode::new(extent, step));
        return Some(());
    }
    let (d, s) = step.iter().enumerate().find(|(d, s)| **s * (extent - 1) >= tile[*d])?;
    if tile[d] % s != 0 {
        return None;
    }
    let first = tile[d] / s;
    if first <= 1 || extent % first != 0 || !fits(first) {
        return None;
    }
    out.push(TileMode::new(first, step));
    split_mode(extent / first, stride * first, tile, out)
}

/// Returns the modes as one mode of a layout to the colexicographic index of `tile`.
///
/// # Errors
/// If the layout's size or an index exceeds 64 bits, or a mode has an extent below 1.
pub fn modes_layout(modes: &[TileMode], tile: &[i64]) -> Result<Layout, LayoutError> {
    let flat: Vec<_> =
        modes.iter().map(|m| (m.extent, index(&m.strides, tile))).filter(|m| m.0 != 1).collect();
    if flat.is_empty() { Ok(Layout::unit()) } else { Layout::flat(&flat) }
}

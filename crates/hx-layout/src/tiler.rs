//! Tilers, which act on a layout mode by mode, and coordinates with modes to keep.

use std::fmt;

use crate::{Layout, LayoutError};

/// What a layout is composed with or divided by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tiler {
    /// A layout, for the whole of what it meets.
    Layout(Layout),
    /// `_`: what it meets stays as it is.
    Keep,
    /// `<...>`: entry by entry for the modes.
    Modes(Vec<Tiler>),
}

impl Tiler {
    /// The integer tiler `n`, which stands for `n:1`.
    ///
    /// # Errors
    /// When `n` is below 1.
    pub fn extent(n: i64) -> Result<Tiler, LayoutError> {
        Ok(Tiler::Layout(Layout::flat(&[(n, 1)])?))
    }

    /// A tiler of integers, mode by mode.
    ///
    /// # Errors
    /// When an extent is below 1.
    pub fn extents(extents: &[i64]) -> Result<Tiler, LayoutError> {
        Ok(Tiler::Modes(extents.iter().map(|&n| Tiler::extent(n)).collect::<Result<_, _>>()?))
    }
}

impl From<Layout> for Tiler {
    fn from(layout: Layout) -> Self {
        Tiler::Layout(layout)
    }
}

impl fmt::Display for Tiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tiler::Layout(layout) => write!(f, "{layout}"),
            Tiler::Keep => f.write_str("_"),
            Tiler::Modes(entries) => {
                f.write_str("<")?;
                for (i, entry) in entries.iter().enumerate() {
                    write!(f, "{}{entry}", if i > 0 { "," } else { "" })?;
                }
                f.write_str(">")
            }
        }
    }
}

/// A coordinate in which `_` marks a mode to keep.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Coord {
    Keep,
    Int(i64),
    Tuple(Vec<Coord>),
}

impl fmt::Display for Coord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Coord::Keep => f.write_str("_"),
            Coord::Int(i) => write!(f, "{i}"),
            Coord::Tuple(entries) => {
                f.write_str("(")?;
                for (i, entry) in entries.iter().enumerate() {
                    write!(f, "{}{entry}", if i > 0 { "," } else { "" })?;
                }
                f.write_str(if entries.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}

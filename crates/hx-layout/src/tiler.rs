//! Tilers, which act on a layout mode by mode, and coordinates that keep some modes.

use std::fmt;

use crate::{Layout, LayoutError};

/// The second operand of a composition or a divide.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tiler {
    /// A layout, applied to the whole operand.
    Layout(Layout),
    /// `_`: the operand stays unchanged.
    Keep,
    /// `<...>`: one entry for each mode.
    Modes(Vec<Tiler>),
}

impl Tiler {
    /// Makes the integer tiler `n`, which means `n:1`.
    ///
    /// # Errors
    /// If `n` is below 1.
    pub fn extent(n: i64) -> Result<Tiler, LayoutError> {
        Ok(Tiler::Layout(Layout::flat(&[(n, 1)])?))
    }

    /// Makes a tiler of integers, one for each mode.
    ///
    /// # Errors
    /// If an extent is below 1.
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

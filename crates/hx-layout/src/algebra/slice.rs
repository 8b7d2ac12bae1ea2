//! Slices: fixes some modes at a coordinate and keeps the others.

use crate::{Coord, IntTuple, Layout, LayoutError};

impl Layout {
    /// Returns the layout of the modes that `coord` keeps, in order, and the index of the coordinate with 0 for each of them.
    ///
    /// `_` alone keeps the whole layout. A coordinate that keeps no mode leaves `1:0`.
    ///
    /// # Errors
    /// If the coordinate does not fit the shape.
    pub fn slice(&self, coord: &Coord) -> Result<(Layout, i64), LayoutError> {
        if *coord == Coord::Keep {
            return Ok((self.clone(), 0));
        }
        let mut kept = Vec::new();
        let offset = slice_into(self, coord, &mut kept)?;
        Ok((Layout::concat(&kept)?, offset))
    }
}

fn slice_into(layout: &Layout, coord: &Coord, kept: &mut Vec<Layout>) -> Result<i64, LayoutError> {
    match coord {
        Coord::Keep => {
            kept.push(layout.clone());
            Ok(0)
        }
        Coord::Int(c) => layout.eval_coord(&IntTuple::Int(*c)),
        Coord::Tuple(entries) => {
            if !matches!(layout.shape(), IntTuple::Tuple(modes) if modes.len() == entries.len()) {
                return Err(LayoutError::Coordinate {
                    coord: coord.to_string(),
                    shape: layout.shape().clone(),
                });
            }
            let mut offset = 0;
            for (i, entry) in entries.iter().enumerate() {
                offset += slice_into(&layout.mode(i), entry, kept)?;
            }
            Ok(offset)
        }
    }
}

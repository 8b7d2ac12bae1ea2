//! Hierarchical tuples of integers: shapes, strides, coordinates and profiles.
//!
//! This module knows the structure of tuples, not their meaning.

use std::fmt;

use crate::LayoutError;

/// An integer or a tuple of such tuples. A tuple of one entry, `(8,)`, differs from the integer `8`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntTuple {
    Int(i64),
    Tuple(Vec<IntTuple>),
}

impl IntTuple {
    /// Makes a flat tuple of integers. A single integer becomes a tuple of one entry.
    pub fn flat(ints: &[i64]) -> IntTuple {
        IntTuple::Tuple(ints.iter().map(|&i| IntTuple::Int(i)).collect())
    }

    /// Returns the number of top-level entries; 1 for an integer.
    pub fn rank(&self) -> usize {
        match self {
            IntTuple::Int(_) => 1,
            IntTuple::Tuple(entries) => entries.len(),
        }
    }

    /// Returns the nesting depth; 0 for an integer.
    pub fn depth(&self) -> usize {
        match self {
            IntTuple::Int(_) => 0,
            IntTuple::Tuple(entries) => 1 + entries.iter().map(IntTuple::depth).max().unwrap_or(0),
        }
    }

    /// Returns the top-level entries. An integer is its own only entry.
    pub fn entries(&self) -> &[IntTuple] {
        match self {
            IntTuple::Int(_) => std::slice::from_ref(self),
            IntTuple::Tuple(entries) => entries,
        }
    }

    /// Returns the integers from left to right.
    pub fn leaves(&self) -> Vec<i64> {
        let mut out = Vec::new();
        self.collect_leaves(&mut out);
        out
    }

    fn collect_leaves(&self, out: &mut Vec<i64>) {
        match self {
            IntTuple::Int(i) => out.push(*i),
            IntTuple::Tuple(entries) => entries.iter().for_each(|e| e.collect_leaves(out)),
        }
    }

    /// Returns the product of the integers.
    ///
    /// # Errors
    /// If it does not fit an `i64`.
    pub fn product(&self) -> Result<i64, LayoutError> {
        self.leaves()
            .into_iter()
            .try_fold(1i64, i64::checked_mul)
            .ok_or(LayoutError::Overflow("the product of the tuple"))
    }

    /// Reports whether both tuples have the same structure, whatever their integers.
    pub fn congruent(&self, other: &IntTuple) -> bool {
        match (self, other) {
            (IntTuple::Int(_), IntTuple::Int(_)) => true,
            (IntTuple::Tuple(a), IntTuple::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.congruent(b))
            }
            _ => false,
        }
    }

    /// Reports whether every coordinate of `self` is a coordinate of `finer`. An integer fits any shape of its size; tuples fit
    /// tuples of the same rank entry by entry.
    pub fn compatible(&self, finer: &IntTuple) -> bool {
        match (self, finer) {
            (IntTuple::Int(n), _) => finer.product() == Ok(*n),
            (IntTuple::Tuple(a), IntTuple::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.compatible(b))
            }
            (IntTuple::Tuple(_), IntTuple::Int(_)) => false,
        }
    }

    /// Replaces every integer by `f` of its position from the left and its value. The structure stays.
    pub fn map_leaves(&self, mut f: impl FnMut(usize, i64) -> IntTuple) -> IntTuple {
        fn walk(t: &IntTuple, at: &mut usize, f: &mut dyn FnMut(usize, i64) -> IntTuple) -> IntTuple {
            match t {
                IntTuple::Int(i) => {
                    *at += 1;
                    f(*at - 1, *i)
                }
                IntTuple::Tuple(entries) => IntTuple::Tuple(entries.iter().map(|e| walk(e, at, f)).collect()),
            }
        }
        walk(self, &mut 0, &mut f)
    }

    /// Returns the 1-D coordinate of `coord` in this shape. In `coord`, an integer may stand for a whole sub-tuple.
    ///
    /// # Errors
    /// If the structure does not fit or an entry is outside its extent.
    pub fn coord_to_index(&self, coord: &IntTuple) -> Result<i64, LayoutError> {
        match (self, coord) {
            (_, IntTuple::Int(c)) if (0..self.product()?).contains(c) => Ok(*c),
            (IntTuple::Tuple(shapes), IntTuple::Tuple(coords)) if shapes.len() == coords.len() => {
                let (mut index, mut unit) = (0i64, 1i64);
                for (shape, coord) in shapes.iter().zip(coords) {
                    let overflow = LayoutError::Overflow("the size of the shape");
                    let part = shape.coord_to_index(coord)?.checked_mul(unit).ok_or(overflow.clone())?;
                    index = index.checked_add(part).ok_or(overflow.clone())?;
                    unit = unit.checked_mul(shape.product()?).ok_or(overflow)?;
                }
                Ok(index)
            }
            _ => Err(LayoutError::Coordinate { coord: coord.to_string(), shape: self.clone() }),
        }
    }

    /// Returns the coordinate with this shape's full structure for a 1-D coordinate. The last mode is open: its entry may exceed
    /// its extent.
    ///
    /// # Errors
    /// If `index` is negative or an extent is below 1.
    pub fn index_to_coord(&self, index: i64) -> Result<IntTuple, LayoutError> {
        if index < 0 {
            return Err(LayoutError::Coordinate { coord: index.to_string(), shape: self.clone() });
        }
        let last = self.leaves().len().saturating_sub(1);
        let mut rest = index;
        let mut bad = None;
        let coord = self.map_leaves(|i, extent| {
            if extent < 1 {
                bad = Some(extent);
                return IntTuple::Int(0);
            }
            let here = if i == last { rest } else { rest % extent };
            rest /= extent;
            IntTuple::Int(here)
        });
        bad.map_or(Ok(coord), |extent| Err(LayoutError::Extent(extent)))
    }
}

impl From<i64> for IntTuple {
    fn from(i: i64) -> Self {
        IntTuple::Int(i)
    }
}

impl fmt::Display for IntTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntTuple::Int(i) => write!(f, "{i}"),
            IntTuple::Tuple(entries) => {
                f.write_str("(")?;
                for (i, entry) in entries.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{entry}")?;
                }
                f.write_str(if entries.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}

impl fmt::Debug for IntTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

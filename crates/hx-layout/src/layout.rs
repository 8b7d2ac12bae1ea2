//! A layout: a shape and a stride of the same structure, and the function that they define.
//!
//! This module has construction, measures and evaluation. `algebra` has the operations that make layouts from layouts.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{IntTuple, LayoutError};

/// A mode without structure: its extent and its stride.
pub type Mode = (i64, i64);

/// A function from coordinates to integers, written `shape:stride`.
///
/// Extents are at least 1. The size and the span of the indices fit an `i64`, so evaluation inside the domain cannot overflow.
/// Equality and order compare the text; [`crate::equal_function`] compares functions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layout {
    shape: IntTuple,
    stride: IntTuple,
    /// The leaves of shape and stride in pairs, so that evaluation is one loop.
    leaves: Box<[Mode]>,
}

impl Layout {
    /// Makes a layout of this shape and stride.
    ///
    /// # Errors
    /// If the structures differ, a tuple is empty, an extent is below 1, or the size or span does not fit.
    pub fn new(shape: IntTuple, stride: IntTuple) -> Result<Layout, LayoutError> {
        if !shape.congruent(&stride) {
            return Err(match finer_stride(&shape, &stride) {
                true => LayoutError::CoordinateStride { shape, stride },
                false => LayoutError::NotCongruent { shape, stride },
            });
        }
        if has_empty(&shape) {
            return Err(LayoutError::EmptyTuple);
        }
        let leaves: Box<[Mode]> = shape.leaves().into_iter().zip(stride.leaves()).collect();
        check_leaves(&leaves)?;
        Ok(Layout { shape, stride, leaves })
    }

    /// Makes a layout of plain modes: a tuple for two and more, `s:d` for one, `1:0` for none.
    ///
    /// # Errors
    /// As for [`Layout::new`].
    pub fn flat(modes: &[Mode]) -> Result<Layout, LayoutError> {
        match modes {
            [] => Layout::flat(&[(1, 0)]),
            &[(extent, stride)] => Layout::new(extent.into(), stride.into()),
            _ => {
                check_leaves(modes)?;
                let shape = IntTuple::Tuple(modes.iter().map(|m| IntTuple::Int(m.0)).collect());
                let stride = IntTuple::Tuple(modes.iter().map(|m| IntTuple::Int(m.1)).collect());
                Ok(Layout { shape, stride, leaves: modes.into() })
            }
        }
    }

    /// Makes a layout of plain modes from extents and as many strides. Equals [`Layout::flat`] of the pairs.
    ///
    /// # Errors
    /// If the lengths differ, and as for [`Layout::new`].
    pub fn from_extent_strides(extents: &[i64], strides: &[i64]) -> Result<Layout, LayoutError> {
        if extents.len() != strides.len() {
            return Err(LayoutError::NotCongruent {
                shape: IntTuple::flat(extents),
                stride: IntTuple::flat(strides),
            });
        }
        let modes: Vec<Mode> = extents.iter().copied().zip(strides.iter().copied()).collect();
        Layout::flat(&modes)
    }

    /// Makes the layout of this shape whose index is the 1-D coordinate: compact, leftmost mode fastest.
    ///
    /// # Errors
    /// As for [`Layout::new`].
    pub fn column_major(shape: IntTuple) -> Result<Layout, LayoutError> {
        let mut unit = Some(1i64);
        let stride = shape.map_leaves(|_, extent| {
            let here = unit;
            unit = unit.and_then(|u| u.checked_mul(extent));
            IntTuple::Int(here.unwrap_or(0))
        });
        unit.ok_or(LayoutError::Overflow("the size of the layout"))?;
        Layout::new(shape, stride)
    }

    /// Makes the compact layout of this shape with the rightmost mode fastest.
    ///
    /// # Errors
    /// As for [`Layout::new`].
    pub fn row_major(shape: IntTuple) -> Result<Layout, LayoutError> {
        let extents = shape.leaves();
        let mut strides = vec![0i64; extents.len()];
        let mut unit = 1i64;
        for (stride, &extent) in strides.iter_mut().zip(&extents).rev() {
            *stride = unit;
            unit = unit.checked_mul(extent).ok_or(LayoutError::Overflow("the size of the layout"))?;
        }
        let stride = shape.map_leaves(|i, _| IntTuple::Int(strides[i]));
        Layout::new(shape, stride)
    }

    /// Returns `1:0`, the layout of one coordinate.
    pub fn unit() -> Layout {
        Layout { shape: IntTuple::Int(1), stride: IntTuple::Int(0), leaves: Box::new([(1, 0)]) }
    }

    /// Parses a layout written in this program's own source, for tables.
    ///
    /// # Panics
    /// If the text is not a layout. Use [`str::parse`] for text from outside.
    #[track_caller]
    pub fn literal(text: &str) -> Layout {
        match text.parse() {
            Ok(layout) => layout,
            Err(error) => panic!("`{text}` is not a layout: {error}"),
        }
    }

    /// Makes layouts the top-level modes of one layout, a tuple even for a single one; `1:0` for none.
    ///
    /// # Errors
    /// If the size or span does not fit an `i64`.
    pub fn concat(modes: &[Layout]) -> Result<Layout, LayoutError> {
        if modes.is_empty() {
            return Ok(Layout::unit());
        }
        let leaves: Box<[Mode]> = modes.iter().flat_map(|m| m.leaves.iter().copied()).collect();
        check_leaves(&leaves)?;
        let shape = IntTuple::Tuple(modes.iter().map(|m| m.shape.clone()).collect());
        let stride = IntTuple::Tuple(modes.iter().map(|m| m.stride.clone()).collect());
        Ok(Layout { shape, stride, leaves })
    }

    /// Returns the shape, the extents of the modes.
    pub fn shape(&self) -> &IntTuple {
        &self.shape
    }

    /// Returns the stride, which has the structure of the shape.
    pub fn stride(&self) -> &IntTuple {
        &self.stride
    }

    /// Returns the plain modes from left to right, size-1 modes included.
    #[inline]
    pub fn leaves(&self) -> &[Mode] {
        &self.leaves
    }

    /// Returns a copy of [`Layout::leaves`].
    pub fn flatten(&self) -> Vec<Mode> {
        self.leaves.to_vec()
    }

    /// Returns the number of coordinates.
    #[inline]
    pub fn size(&self) -> i64 {
        self.leaves.iter().map(|m| m.0).product()
    }

    /// Returns the largest index plus one.
    pub fn cosize(&self) -> i64 {
        1 + self.leaves.iter().map(|&(s, d)| (d * (s - 1)).max(0)).sum::<i64>()
    }

    /// Returns the smallest index: 0 unless a stride is negative.
    pub fn min_index(&self) -> i64 {
        self.leaves.iter().map(|&(s, d)| (d * (s - 1)).min(0)).sum()
    }

    /// Returns the number of top-level modes; 1 for an integer shape.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Returns the nesting depth; 0 for an integer shape.
    pub fn depth(&self) -> usize {
        self.shape.depth()
    }

    /// Returns top-level mode `i`. An integer shape is its own mode 0.
    ///
    /// # Panics
    /// If `i` is not below the rank.
    pub fn mode(&self, i: usize) -> Layout {
        let (shape, stride) = (&self.shape.entries()[i], &self.stride.entries()[i]);
        let leaves = shape.leaves().into_iter().zip(stride.leaves()).collect();
        Layout { shape: shape.clone(), stride: stride.clone(), leaves }
    }

    /// Returns the top-level modes; an integer shape is a single mode.
    pub fn modes(&self) -> Vec<Layout> {
        (0..self.rank()).map(|i| self.mode(i)).collect()
    }

    /// Returns the index of a 1-D coordinate of at least 0. Beyond the size, the last mode is open.
    ///
    /// Cannot overflow inside the domain. For coordinates beyond it, use [`Layout::try_eval`].
    #[inline]
    pub fn eval(&self, c: i64) -> i64 {
        debug_assert!(c >= 0, "coordinate {c} is negative");
        let Some((&(_, last), rest)) = self.leaves.split_last() else { return 0 };
        let (mut c, mut index) = (c, 0);
        for &(extent, stride) in rest {
            index += c % extent * stride;
            c /= extent;
        }
        index + c * last
    }

    /// Returns the index of any 1-D coordinate, the last mode open.
    ///
    /// # Errors
    /// If the coordinate is negative or the index does not fit an `i64`.
    pub fn try_eval(&self, c: i64) -> Result<i64, LayoutError> {
        if c < 0 {
            return Err(LayoutError::Coordinate { coord: c.to_string(), shape: self.shape.clone() });
        }
        let last = self.leaves.len() - 1;
        let (mut c, mut index) = (c, 0i64);
        for (i, &(extent, stride)) in self.leaves.iter().enumerate() {
            let here = if i == last { c } else { c % extent };
            c /= extent;
            index = here
                .checked_mul(stride)
                .and_then(|part| index.checked_add(part))
                .ok_or(LayoutError::Overflow("the index"))?;
        }
        Ok(index)
    }

    /// Returns the index of a coordinate of any structure that fits the shape.
    ///
    /// # Errors
    /// If the coordinate does not fit.
    pub fn eval_coord(&self, coord: &IntTuple) -> Result<i64, LayoutError> {
        Ok(self.eval(self.shape.coord_to_index(coord)?))
    }

    /// Yields the indices of all 1-D coordinates in order.
    pub fn table(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.size()).map(|c| self.eval(c))
    }

    /// Reports whether two blocks lay out every tensor alike: they have the same extent along each dimension, and are the same function.
    pub fn is_same_block(&self, other: &Layout) -> bool {
        let sizes = |block: &Layout| block.modes().iter().map(Layout::size).collect::<Vec<_>>();
        self == other || (sizes(self) == sizes(other) && self.table().eq(other.table()))
    }

    /// Reports whether a mode larger than 1 has a negative stride.
    pub fn has_negative_stride(&self) -> bool {
        self.leaves.iter().any(|&(s, d)| s > 1 && d < 0)
    }
}

/// Reports whether the stride has a tuple at some integer of the shape.
fn finer_stride(shape: &IntTuple, stride: &IntTuple) -> bool {
    match (shape, stride) {
        (IntTuple::Int(_), IntTuple::Tuple(_)) => true,
        (IntTuple::Tuple(a), IntTuple::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).any(|(a, b)| finer_stride(a, b))
        }
        (IntTuple::Int(_) | IntTuple::Tuple(_), IntTuple::Int(_)) => false,
    }
}

fn has_empty(t: &IntTuple) -> bool {
    match t {
        IntTuple::Int(_) => false,
        IntTuple::Tuple(entries) => entries.is_empty() || entries.iter().any(has_empty),
    }
}

/// Checks that extents are at least 1, and that the size and the span of indices fit an `i64` with room for the cosize.
fn check_leaves(leaves: &[Mode]) -> Result<(), LayoutError> {
    let (mut size, mut span) = (1i64, 1i64);
    for &(extent, stride) in leaves {
        if extent < 1 {
            return Err(LayoutError::Extent(extent));
        }
        size = size.checked_mul(extent).ok_or(LayoutError::Overflow("the size of the layout"))?;
        span = stride
            .checked_abs()
            .and_then(|d| d.checked_mul(extent - 1))
            .and_then(|d| d.checked_add(span))
            .ok_or(LayoutError::Overflow("the largest index of the layout"))?;
    }
    Ok(())
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape, self.stride)
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

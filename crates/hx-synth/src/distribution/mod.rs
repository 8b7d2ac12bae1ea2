//! Thread-value layouts while they are being solved: modes are steps along the dimensions of a tile.

pub(crate) mod layouts;
pub(crate) mod pinned;
pub(crate) mod reshape;

use std::rc::Rc;

use hx_layout::{Layout, LayoutError};
use hx_tile::{Distribution, Reason, TileMode, modes_layout};

/// A thread-value layout over a tile, which is at least as large as the tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ThreadValueLayout {
    pub(crate) tile: Vec<i64>,
    pub(crate) thread: Vec<TileMode>,
    pub(crate) value: Vec<TileMode>,
}

/// Identifies a layout that the pool keeps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct LayoutKey(usize);

/// Returns the key of a layout that the pool keeps.
pub(crate) fn key(layout: &Rc<ThreadValueLayout>) -> LayoutKey {
    LayoutKey(Rc::as_ptr(layout) as usize)
}

/// A value mode with the stride of its positions among a thread's values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Placed {
    pub(crate) mode: TileMode,
    pub(crate) position: i64,
}

impl ThreadValueLayout {
    /// Builds a layout over the smallest tile that covers the tensor's shape and every mode. Drops modes of extent 1.
    pub(crate) fn covering(shape: &[i64], thread: Vec<TileMode>, value: Vec<TileMode>) -> ThreadValueLayout {
        let reach =
            |d: usize| 1 + thread.iter().chain(&value).map(|m| m.strides[d] * (m.extent - 1)).sum::<i64>();
        let tile = shape.iter().enumerate().map(|(d, extent)| reach(d).max(*extent)).collect();
        let drop_units = |modes: Vec<TileMode>| modes.into_iter().filter(|m| m.extent != 1).collect();
        ThreadValueLayout { tile, thread: drop_units(thread), value: drop_units(value) }
    }

    pub(crate) fn values(&self) -> i64 {
        self.value.iter().map(|m| m.extent).product()
    }

    pub(crate) fn threads(&self) -> i64 {
        self.thread.iter().map(|m| m.extent).product()
    }

    /// Returns the coordinate that `thread` holds as its value number `value`.
    pub(crate) fn coordinate(&self, thread: i64, value: i64) -> Vec<i64> {
        let mut at = vec![0; self.tile.len()];
        step(&self.thread, thread, &mut at);
        step(&self.value, value, &mut at);
        at
    }

    /// Returns the value modes with the strides of their positions.
    pub(crate) fn placed(&self) -> Vec<Placed> {
        let mut position = 1;
        self.value
            .iter()
            .map(|mode| {
                let placed = Placed { mode: mode.clone(), position };
                position *= mode.extent;
                placed
            })
            .collect()
    }

    /// Returns the layout with these axes reduced to extent 1. Every thread holds the images of its elements, without repeated
    /// values. Thread modes are cut at the end of a warp.
    pub(crate) fn project(&self, axes: &[usize], lanes: u32) -> ThreadValueLayout {
        let mut projected = self.project_values(axes, lanes);
        projected.value.retain(|m| !m.is_still());
        projected
    }

    /// Returns the layout of [`ThreadValueLayout::project`] with all values in number and order, so that several values may be
    /// one element.
    pub(crate) fn project_values(&self, axes: &[usize], lanes: u32) -> ThreadValueLayout {
        let flat = |mode: &TileMode| {
            let strides =
                mode.strides.iter().enumerate().map(|(d, s)| if axes.contains(&d) { 0 } else { *s });
            TileMode::new(mode.extent, strides.collect())
        };
        let tile =
            self.tile.iter().enumerate().map(|(d, e)| if axes.contains(&d) { 1 } else { *e }).collect();
        let thread = at_warps(&self.thread, lanes);
        ThreadValueLayout {
            tile,
            thread: thread.iter().map(flat).collect(),
            value: self.value.iter().map(flat).collect(),
        }
    }

    /// Reports whether the tile has exactly the tensor's shape.
    pub(crate) fn is_exact(&self, shape: &[i64]) -> bool {
        self.tile == shape
    }

    pub(crate) fn thread_layout(&self) -> Result<Layout, LayoutError> {
        modes_layout(&self.thread, &self.tile)
    }

    pub(crate) fn value_layout(&self) -> Result<Layout, LayoutError> {
        modes_layout(&self.value, &self.tile)
    }

    pub(crate) fn to_distribution(&self, reason: Reason) -> Result<Distribution, LayoutError> {
        let layout = Layout::concat(&[self.thread_layout()?, self.value_layout()?])?;
        Ok(Distribution { tile: self.tile.clone(), layout, reason })
    }

    /// Returns, for each value of `wanted`, the position at which every thread of `self` holds that element. Returns `None` if no
    /// position serves every thread, or if the numbers of threads differ.
    pub(crate) fn positions_of(&self, wanted: &ThreadValueLayout) -> Option<Vec<i64>> {
        if self == wanted {
            return Some((0..self.values()).collect());
        }
        if self.threads() != wanted.threads() {
            return None;
        }
        let radix = self.radix(wanted);
        if offsets(&self.thread, &radix) != offsets(&wanted.thread, &radix) {
            return None;
        }
        let mut held: Vec<(i64, i64)> = offsets(&self.value, &radix).into_iter().zip(0..).collect();
        held.sort_unstable();
        let position = |at: &i64| {
            let first = held.partition_point(|(offset, _)| offset < at);
            held.get(first).filter(|(offset, _)| offset == at).map(|(_, position)| *position)
        };
        offsets(&wanted.value, &radix).iter().map(position).collect()
    }

    /// Returns a multiplier for each dimension, the same for both layouts: the sum of the scaled coordinates numbers the
    /// elements.
    pub(crate) fn radix(&self, other: &ThreadValueLayout) -> Vec<i64> {
        let mut radix = vec![1i64; self.tile.len()];
        for d in 1..radix.len() {
            radix[d] = radix[d - 1] * self.tile[d - 1].max(other.tile[d - 1]);
        }
        radix
    }

    /// Returns the numbers of the elements of the threads and of the values. A thread holds, as a value, the element at the sum
    /// of the two.
    pub(crate) fn elements(&self, radix: &[i64]) -> [Vec<i64>; 2] {
        [&self.thread, &self.value].map(|modes| offsets(modes, radix))
    }

    /// Returns the thread and the value modes in the language's notation for layouts, `(thread, value)`.
    pub(crate) fn text(&self) -> String {
        match (self.thread_layout(), self.value_layout()) {
            (Ok(t), Ok(v)) => format!("({t}, {v})"),
            _ => "a layout too large to print".into(),
        }
    }
}

/// Returns the number of the element at each index over the modes, the first mode fastest; `radix` numbers coordinates.
fn offsets(modes: &[TileMode], radix: &[i64]) -> Vec<i64> {
    let mut out = vec![0];
    for mode in modes {
        let step: i64 = mode.strides.iter().zip(radix).map(|(s, r)| s * r).sum();
        let inner = out.len();
        for digit in 1..mode.extent {
            out.extend_from_within((digit as usize - 1) * inner..digit as usize * inner);
            let last = out.len() - inner;
            out[last..].iter_mut().for_each(|o| *o += step);
        }
    }
    out
}

/// Splits thread modes that cross the end of a warp of `lanes` lanes.
pub(crate) fn at_warps(modes: &[TileMode], lanes: u32) -> Vec<TileMode> {
    let warp = i64::from(lanes);
    let mut unit = 1;
    let mut out = Vec::new();
    for mode in modes {
        let lanes = warp / unit.min(warp);
        if unit < warp && warp % unit == 0 && mode.extent > lanes && mode.extent % lanes == 0 {
            let outer = mode.strides.iter().map(|s| s * lanes).collect();
            out.push(TileMode::new(lanes, mode.strides.clone()));
            out.push(TileMode::new(mode.extent / lanes, outer));
        } else {
            out.push(mode.clone());
        }
        unit *= mode.extent;
    }
    out
}

/// Adds to `at` the coordinate of `index`, decomposed into digits over the modes.
fn step(modes: &[TileMode], index: i64, at: &mut [i64]) {
    let mut rest = index;
    for mode in modes {
        let digit = rest % mode.extent;
        rest /= mode.extent;
        for (a, s) in at.iter_mut().zip(&mode.strides) {
            *a += s * digit;
        }
    }
}

/// Splits the first `n` elements off a list of modes and cuts a mode where needed. Returns `None` if `n` does not divide the
/// modes.
pub(crate) fn split_placed(modes: &[Placed], n: i64) -> Option<(Vec<Placed>, Vec<Placed>)> {
    let (mut first, mut rest, mut need) = (Vec::new(), Vec::new(), n);
    for placed in modes {
        let (extent, need_here) = (placed.mode.extent, need);
        if need_here == 1 {
            rest.push(placed.clone());
        } else if need_here % extent == 0 {
            first.push(placed.clone());
            need = need_here / extent;
        } else if extent % need_here == 0 {
            let (inner, outer) = cut(placed, need_here);
            first.push(inner);
            rest.push(outer);
            need = 1;
        } else {
            return None;
        }
    }
    (need == 1).then_some((first, rest))
}

/// Cuts a mode into its first `n` steps and the steps over them.
pub(crate) fn cut(placed: &Placed, n: i64) -> (Placed, Placed) {
    let Placed { mode, position } = placed;
    let outer = mode.strides.iter().map(|s| s * n).collect();
    (
        Placed { mode: TileMode::new(n, mode.strides.clone()), position: *position },
        Placed { mode: TileMode::new(mode.extent / n, outer), position: position * n },
    )
}

/// Returns a table of positions as a layout with one top-level mode for each extent, the leftmost fastest. Returns `None` if no
/// such layout describes the table.
pub(crate) fn layout_of_table(extents: &[i64], table: &[i64]) -> Option<Layout> {
    let mut modes = Vec::new();
    let mut unit = 1usize;
    for &extent in extents {
        let line: Vec<i64> = (0..extent as usize).map(|i| table[i * unit]).collect();
        modes.push(Layout::flat(&line_modes(&line)?).ok()?);
        unit *= extent as usize;
    }
    let layout = Layout::concat(&modes).ok()?;
    let same = table.iter().enumerate().all(|(i, p)| layout.eval(i as i64) == *p);
    same.then_some(layout)
}

/// Returns the `(extent, stride)` modes of a layout whose values are these numbers. `None` if there is no such layout, or if
/// the first number is not 0.
fn line_modes(line: &[i64]) -> Option<Vec<(i64, i64)>> {
    if line.first() != Some(&0) {
        return None;
    }
    if line.len() == 1 {
        return Some(vec![(1, 0)]);
    }
    let stride = line[1];
    let run = line.iter().enumerate().take_while(|(i, x)| **x == stride * *i as i64).count();
    // The inner mode is the longest run that divides the list; the caller checks that the rest repeats it.
    let run = (1..=run).rev().find(|r| line.len().is_multiple_of(*r))?;
    let mut modes = vec![(run as i64, stride)];
    if run < line.len() {
        if run == 1 {
            return None;
        }
        let outer: Vec<i64> = line.iter().step_by(run).copied().collect();
        modes.extend(line_modes(&outer)?);
    }
    Some(modes)
}

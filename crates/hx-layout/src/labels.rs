//! Names on modes, and what the algebra does with them.
//!
//! A name belongs to a node of the shape, so a mode that is refined keeps its name. Labels never change a function.

use std::fmt;

use crate::algebra::coalesce::coalesced;
use crate::layout::Mode;
use crate::{Coord, IntTuple, Layout, LayoutError, Tiler};

/// The names of a mode and of those below it. No entries below means that none of them is named.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Labels {
    pub name: Option<String>,
    pub modes: Vec<Labels>,
}

impl Labels {
    /// A name with nothing below it.
    pub fn named(name: impl Into<String>) -> Labels {
        Labels { name: Some(name.into()), modes: Vec::new() }
    }

    /// The labels of mode `i`.
    pub fn mode(&self, i: usize) -> Labels {
        self.modes.get(i).cloned().unwrap_or_default()
    }

    /// Whether neither this node nor one below has a name.
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.modes.iter().all(Labels::is_empty)
    }

    /// The same names below, with another one here.
    fn renamed(mut self, name: Option<String>) -> Labels {
        self.name = name.or(self.name);
        self
    }

    fn of_modes(modes: Vec<Labels>) -> Labels {
        Labels { name: None, modes }
    }
}

/// A layout with names on its modes, written `(warp: 4, lane: 8):(32,1)`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labeled {
    pub layout: Layout,
    pub labels: Labels,
}

impl From<Layout> for Labeled {
    fn from(layout: Layout) -> Self {
        Labeled { layout, labels: Labels::default() }
    }
}

impl Labeled {
    /// A layout with names.
    pub fn new(layout: Layout, labels: Labels) -> Labeled {
        Labeled { layout, labels }
    }

    /// Top-level mode `i` with its names.
    ///
    /// # Panics
    /// When `i` is not below the rank.
    pub fn mode(&self, i: usize) -> Labeled {
        Labeled::new(self.layout.mode(i), self.labels.mode(i))
    }

    /// Layouts as the modes of one.
    ///
    /// # Errors
    /// As for [`Layout::concat`].
    pub fn concat(modes: &[Labeled]) -> Result<Labeled, LayoutError> {
        let layouts: Vec<Layout> = modes.iter().map(|m| m.layout.clone()).collect();
        let labels = Labels::of_modes(modes.iter().map(|m| m.labels.clone()).collect());
        Ok(Labeled::new(Layout::concat(&layouts)?, labels))
    }

    /// [`Layout::compose`]: the shape is that of `b`, and so are the names.
    ///
    /// # Errors
    /// As for [`Layout::compose`].
    pub fn compose(&self, b: &Labeled) -> Result<Labeled, LayoutError> {
        Ok(Labeled::new(self.layout.compose(&b.layout)?, b.labels.clone()))
    }

    /// [`Layout::compose_tiler`]: each mode keeps its own name.
    ///
    /// # Errors
    /// As for [`Layout::compose_tiler`].
    pub fn compose_tiler(&self, tiler: &Tiler) -> Result<Labeled, LayoutError> {
        let layout = self.layout.compose_tiler(tiler)?;
        Ok(Labeled::new(layout, tiled_labels(&self.labels, tiler, 0)))
    }

    /// [`Layout::coalesce`]: a mode that is made of one named mode keeps that name.
    pub fn coalesce(&self) -> Labeled {
        let names = leaf_names(self.layout.shape(), &self.labels);
        let mut labels: Vec<Labels> = Vec::new();
        let mut modes: Vec<Mode> = Vec::new();
        for (&(extent, stride), name) in self.layout.leaves().iter().zip(names) {
            if extent == 1 {
                continue;
            }
            modes.push((extent, stride));
            let merged = coalesced(&modes);
            if merged.len() < modes.len()
                && let Some(last) = labels.last_mut()
            {
                // Of two names neither is that of the merged mode.
                last.name = None;
            } else {
                labels.push(Labels { name, modes: Vec::new() });
            }
            modes = merged;
        }
        let labels = match labels.len() {
            0 => Labels::default(),
            1 => labels.remove(0),
            _ => Labels::of_modes(labels),
        };
        Labeled::new(self.layout.coalesce(), labels)
    }

    /// [`Layout::slice`]: kept modes keep their names.
    ///
    /// # Errors
    /// As for [`Layout::slice`].
    pub fn slice(&self, coord: &Coord) -> Result<(Labeled, i64), LayoutError> {
        let (layout, offset) = self.layout.slice(coord)?;
        let labels = match coord {
            Coord::Keep => self.labels.clone(),
            _ => {
                let mut kept = Vec::new();
                kept_labels(&self.labels, coord, &mut kept);
                Labels::of_modes(kept)
            }
        };
        Ok((Labeled::new(layout, labels), offset))
    }

    /// [`Layout::logical_divide`]: by mode, each mode keeps its name over its tile and rest.
    ///
    /// # Errors
    /// As for [`Layout::logical_divide`].
    pub fn logical_divide(&self, tiler: &Tiler) -> Result<Labeled, LayoutError> {
        let layout = self.layout.logical_divide(tiler)?;
        let labels = tiled_labels(&self.labels, tiler, self.layout.rank());
        Ok(Labeled::new(layout, labels))
    }

    /// [`Layout::logical_product`] by a layout: the names of the block, then those of the repetitions.
    ///
    /// # Errors
    /// As for [`Layout::logical_product`].
    pub fn logical_product(&self, b: &Labeled) -> Result<Labeled, LayoutError> {
        let layout = self.layout.logical_product(&Tiler::Layout(b.layout.clone()))?;
        Ok(Labeled::new(layout, Labels::of_modes(vec![self.labels.clone(), b.labels.clone()])))
    }

    /// The layout with the structure of this one, such as a recast, under the same names.
    pub fn relabel(&self, layout: Layout) -> Labeled {
        if layout.shape().congruent(self.layout.shape()) {
            return Labeled::new(layout, self.labels.clone());
        }
        layout.into()
    }
}

/// The names after a tiler acts by mode; `rank` of 0 drops the modes past it.
fn tiled_labels(labels: &Labels, tiler: &Tiler, rank: usize) -> Labels {
    match tiler {
        Tiler::Keep => labels.clone(),
        Tiler::Layout(_) => Labels { name: labels.name.clone(), modes: Vec::new() },
        Tiler::Modes(entries) => {
            let count = rank.max(entries.len());
            let mode = |i: usize| match entries.get(i) {
                Some(entry) => tiled_labels(&labels.mode(i), entry, 0),
                None => labels.mode(i),
            };
            Labels::of_modes((0..count).map(mode).collect()).renamed(labels.name.clone())
        }
    }
}

fn kept_labels(labels: &Labels, coord: &Coord, kept: &mut Vec<Labels>) {
    match coord {
        Coord::Keep => kept.push(labels.clone()),
        Coord::Int(_) => {}
        Coord::Tuple(entries) => {
            entries.iter().enumerate().for_each(|(i, entry)| kept_labels(&labels.mode(i), entry, kept));
        }
    }
}

/// The name of each integer of the shape: its own, else that of a mode above which has nothing else below.
fn leaf_names(shape: &IntTuple, labels: &Labels) -> Vec<Option<String>> {
    match shape {
        IntTuple::Int(_) => vec![labels.name.clone()],
        IntTuple::Tuple(entries) => {
            entries.iter().enumerate().flat_map(|(i, entry)| leaf_names(entry, &labels.mode(i))).collect()
        }
    }
}

fn write_shape(f: &mut fmt::Formatter<'_>, shape: &IntTuple, labels: &Labels) -> fmt::Result {
    if let Some(name) = &labels.name {
        write!(f, "{name}: ")?;
    }
    match shape {
        IntTuple::Int(i) => write!(f, "{i}"),
        IntTuple::Tuple(entries) => {
            let gap = if labels.modes.iter().all(Labels::is_empty) { "," } else { ", " };
            f.write_str("(")?;
            for (i, entry) in entries.iter().enumerate() {
                f.write_str(if i > 0 { gap } else { "" })?;
                write_shape(f, entry, &labels.mode(i))?;
            }
            f.write_str(if entries.len() == 1 { ",)" } else { ")" })
        }
    }
}

impl fmt::Display for Labeled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name of the whole has no place in the notation.
        write_shape(f, self.layout.shape(), &Labels { name: None, modes: self.labels.modes.clone() })?;
        write!(f, ":{}", self.layout.stride())
    }
}

impl fmt::Debug for Labeled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

//! Names of modes, and how the operations of the algebra treat them.
//!
//! A name belongs to a node of the shape, so a refined mode keeps its name. Labels never change a function.

use std::fmt;

use crate::algebra::coalesce::coalesced;
use crate::layout::Mode;
use crate::{Coord, IntTuple, Layout, LayoutError, Tiler};

/// The names of a mode and of the modes below it. An empty list means that no mode below is named.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Labels {
    pub name: Option<String>,
    pub modes: Vec<Labels>,
}

impl Labels {
    /// Makes a name with no names below it.
    pub fn named(name: impl Into<String>) -> Labels {
        Labels { name: Some(name.into()), modes: Vec::new() }
    }

    /// Returns the labels of top-level mode `i`; empty if it has none.
    pub fn mode(&self, i: usize) -> Labels {
        self.modes.get(i).cloned().unwrap_or_default()
    }

    /// Reports whether neither this node nor a node below has a name.
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.modes.iter().all(Labels::is_empty)
    }

    /// Replaces the name of this node, if there is a new one, and keeps the names below.
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
    /// Makes a layout with names.
    pub fn new(layout: Layout, labels: Labels) -> Labeled {
        Labeled { layout, labels }
    }

    /// Returns top-level mode `i` with its names.
    ///
    /// # Panics
    /// If `i` is not below the rank.
    pub fn mode(&self, i: usize) -> Labeled {
        Labeled::new(self.layout.mode(i), self.labels.mode(i))
    }

    /// Makes layouts the modes of one layout.
    ///
    /// # Errors
    /// As for [`Layout::concat`].
    pub fn concat(modes: &[Labeled]) -> Result<Labeled, LayoutError> {
        let layouts: Vec<Layout> = modes.iter().map(|m| m.layout.clone()).collect();
        let labels = Labels::of_modes(modes.iter().map(|m| m.labels.clone()).collect());
        Ok(Labeled::new(Layout::concat(&layouts)?, labels))
    }

    /// As [`Layout::compose`]. The shape is that of `b`, and so are the names.
    ///
    /// # Errors
    /// As for [`Layout::compose`].
    pub fn compose(&self, b: &Labeled) -> Result<Labeled, LayoutError> {
        Ok(Labeled::new(self.layout.compose(&b.layout)?, b.labels.clone()))
    }

    /// As [`Layout::compose_tiler`]. Each mode keeps its own name.
    ///
    /// # Errors
    /// As for [`Layout::compose_tiler`].
    pub fn compose_tiler(&self, tiler: &Tiler) -> Result<Labeled, LayoutError> {
        let layout = self.layout.compose_tiler(tiler)?;
        Ok(Labeled::new(layout, tiled_labels(&self.labels, tiler, 0)))
    }

    /// As [`Layout::coalesce`]. A mode that is made of one named mode keeps that name.
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
                // A mode merged from two gets neither name.
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

    /// As [`Layout::slice`]. Kept modes keep their names.
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

    /// As [`Layout::logical_divide`]. With a tiler by mode, each mode keeps its name over its tile and rest.
    ///
    /// # Errors
    /// As for [`Layout::logical_divide`].
    pub fn logical_divide(&self, tiler: &Tiler) -> Result<Labeled, LayoutError> {
        let layout = self.layout.logical_divide(tiler)?;
        let labels = tiled_labels(&self.labels, tiler, self.layout.rank());
        Ok(Labeled::new(layout, labels))
    }

    /// As [`Layout::logical_product`] by a layout: the names of the block, then those of the repetitions.
    ///
    /// # Errors
    /// As for [`Layout::logical_product`].
    pub fn logical_product(&self, b: &Labeled) -> Result<Labeled, LayoutError> {
        let layout = self.layout.logical_product(&Tiler::Layout(b.layout.clone()))?;
        Ok(Labeled::new(layout, Labels::of_modes(vec![self.labels.clone(), b.labels.clone()])))
    }

    /// Moves the names to a layout with the structure of this one, such as a recast. A layout with another structure gets no
    /// names.
    pub fn relabel(&self, layout: Layout) -> Labeled {
        if layout.shape().congruent(self.layout.shape()) {
            return Labeled::new(layout, self.labels.clone());
        }
        layout.into()
    }
}

/// Returns the names of a layout on which a tiler acted by mode. The result has the modes below `rank`, or only those of the
/// tiler if it has more; `rank` 0 thus drops the modes past the tiler.
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

/// Returns the name of each integer of the shape.
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
        // The notation has no place for a name of the whole layout.
        write_shape(f, self.layout.shape(), &Labels { name: None, modes: self.labels.modes.clone() })?;
        write!(f, ":{}", self.layout.stride())
    }
}

impl fmt::Debug for Labeled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

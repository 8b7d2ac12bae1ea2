//! The values of a tensor at one moment, in the order of its coordinates.

use std::ops::Range;

use hx_host::show::show_bits;
use hx_sim::Arrival;
use hx_tile::TensorId;

use super::Stepper;
use super::place::{Home, Named};

/// An element of a tensor at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    /// The value; `-` if it was never written, `…` while an asynchronous copy fills it, `×` if the memory holds another tensor.
    pub text: String,
    /// The thread that holds it, and the position among its values; `None` for tensors in memory.
    pub holder: Option<(u32, usize)>,
    /// The first byte in the block's shared memory.
    pub byte: Option<usize>,
}

/// A part of a tensor at one moment: all of its first two dimensions, or a window of them, at fixed other coordinates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tile {
    pub named: Named,
    /// The first coordinate of the window along each dimension.
    pub origin: Vec<i64>,
    /// The number of rows and columns. A tensor of one dimension is one row.
    pub extents: [usize; 2],
    /// Row by row.
    pub cells: Vec<Cell>,
}

impl Cell {
    /// Returns the bank of shared memory that holds the first byte.
    pub fn bank(&self) -> Option<usize> {
        self.byte.map(|byte| byte / 4 % 32)
    }
}

impl Tile {
    /// Returns the coordinate of a cell.
    pub fn coordinate(&self, row: usize, column: usize) -> Vec<i64> {
        let mut at = self.origin.clone();
        match at.as_mut_slice() {
            [only] => *only += column as i64,
            [rows, columns, ..] => {
                *rows += row as i64;
                *columns += column as i64;
            }
            [] => {}
        }
        at
    }
}

impl Stepper<'_> {
    /// Returns the values of a window of a tensor. The window begins at `origin` and has at most `most` rows and columns.
    pub fn tile(&self, named: &Named, origin: &[i64], most: [usize; 2]) -> Tile {
        let mut origin = origin.to_vec();
        origin.resize(named.shape.len(), 0);
        for (at, extent) in origin.iter_mut().zip(&named.shape) {
            *at = (*at).clamp(0, (extent - 1).max(0));
        }
        let left =
            |dim: usize| named.shape.get(dim).map_or(1, |extent| (extent - origin[dim]).max(0) as usize);
        let extents = match named.shape.len() {
            0 => [1, 1],
            1 => [1, left(0).min(most[1])],
            _ => [left(0).min(most[0]), left(1).min(most[1])],
        };
        let mut tile = Tile { named: named.clone(), origin, extents, cells: Vec::new() };
        let held = match named.home {
            Home::Register(tensor, _) => self.holders(tensor),
            _ => Vec::new(),
        };
        for row in 0..extents[0] {
            for column in 0..extents[1] {
                let coordinate = tile.coordinate(row, column);
                tile.cells.push(self.cell(named, &coordinate, &held));
            }
        }
        tile
    }

    fn cell(&self, named: &Named, coordinate: &[i64], held: &[(i64, (u32, usize))]) -> Cell {
        let mut cell = Cell { text: "-".to_owned(), holder: None, byte: None };
        match named.home {
            Home::Global(_) => {
                if let Some(place) = self.place(named, coordinate)
                    && let hx_sim::Memory::Global(param) = place.memory
                    && let Some(bytes) = self.playback.global(self.focus().id.rank, param, place.range)
                {
                    let bits = named.dtype.bits() as usize;
                    let strides = self.prepared.dims(param).map_or(&[][..], |(_, strides)| strides);
                    let offset: i64 = coordinate.iter().zip(strides).map(|(at, stride)| at * stride).sum();
                    let within = if bits < 8 { offset as usize % (8 / bits) } else { 0 };
                    cell.text = show_bits(named.dtype, hx_dtype::load(named.dtype, &bytes, within));
                }
            }
            Home::Shared(tensor) => self.shared_cell(named, (tensor, coordinate), &mut cell),
            Home::Register(tensor, array) => {
                let index = colex(&self.solution.registers[&tensor].tile, coordinate);
                let at = held.partition_point(|(other, _)| *other < index);
                let holder = held.get(at).filter(|(other, _)| *other == index).map(|(_, holder)| *holder);
                cell.holder = holder;
                let file = self.playback.registers(self.focus().id, array);
                if let Some((thread, value)) = holder
                    && let Some(bits) = file.and_then(|file| file.value(thread, value))
                {
                    cell.text = show_bits(named.dtype, bits);
                }
            }
        }
        cell
    }

    fn shared_cell(&self, named: &Named, (tensor, coordinate): (TensorId, &[i64]), cell: &mut Cell) {
        let Some(bytes) = self.shared_bytes(tensor, coordinate) else { return };
        let rank = self.focus().id.rank;
        cell.byte = Some(bytes.start);
        let offset = self.solution.shared[&tensor].offset;
        let name = &self.tile.tensor(tensor).name;
        let is_here = |at: usize| {
            self.program.shared.get(at).is_some_and(|buffer| buffer.offset == offset && buffer.name == *name)
        };
        cell.text = match self.playback.arrival(rank, bytes.start) {
            Arrival::Unwritten => return,
            Arrival::Filling => "…".to_owned(),
            Arrival::Holds(at) if !is_here(at) => "×".to_owned(),
            Arrival::Holds(_) => {
                let bits = named.dtype.bits() as usize;
                let within = match self.element(tensor, coordinate) {
                    Some(element) if bits < 8 => element % (8 / bits),
                    _ => 0,
                };
                let held = self.playback.shared(rank).get(bytes);
                held.map_or_else(String::new, |held| {
                    show_bits(named.dtype, hx_dtype::load(named.dtype, held, within))
                })
            }
        };
    }

    /// Returns the position of an element of a shared tensor in its memory, in elements; `None` if the tensor is not in shared
    /// memory.
    fn element(&self, tensor: TensorId, coordinate: &[i64]) -> Option<usize> {
        let held = self.solution.shared.get(&tensor)?;
        let index = colex(&self.tile.tensor(tensor).shape, coordinate);
        usize::try_from(held.swizzle.apply(held.layout.eval(index))).ok()
    }

    /// Returns the coordinate of the element at a position of a shared tensor's memory, in elements; `None` if no element is
    /// there.
    pub(super) fn coordinate_of(&self, tensor: TensorId, element: usize) -> Option<Vec<i64>> {
        let held = self.solution.shared.get(&tensor)?;
        let shape = &self.tile.tensor(tensor).shape;
        let all = 0..shape.iter().product::<i64>();
        let is_here = |index: &i64| held.swizzle.apply(held.layout.eval(*index)) == element as i64;
        let mut index = all.into_iter().find(is_here)?;
        Some(shape.iter().map(|extent| digit(&mut index, *extent)).collect())
    }

    /// Returns the bytes of an element in the block's shared memory, for the group in focus.
    pub(super) fn shared_bytes(&self, tensor: TensorId, coordinate: &[i64]) -> Option<Range<usize>> {
        let held = self.solution.shared.get(&tensor)?;
        let of = self.tile.tensor(tensor);
        let scope = self.tile.scope(of.scope);
        let copies = self.tile.copies_of(tensor).max(1);
        let group = self.thread().checked_sub(scope.first).map_or(0, |thread| thread / scope.threads.max(1));
        let copy = if copies > 1 { group.min(copies - 1) } else { 0 };
        let first = held.offset as usize + copy as usize * (held.bytes / copies) as usize;
        let (bits, element) = (of.dtype.bits() as usize, self.element(tensor, coordinate)?);
        Some(first + element * bits / 8..first + ((element + 1) * bits).div_ceil(8))
    }

    /// Returns the values that the thread in focus holds of a register tensor: the coordinate, the position among the thread's values,
    /// and the value as [`Cell::text`] has it. Values beyond the tensor's extents have no coordinate and are left out.
    pub fn values(&self, named: &Named) -> Vec<(Vec<i64>, usize, String)> {
        let Home::Register(tensor, array) = named.home else { return Vec::new() };
        let Some(held) = self.solution.registers.get(&tensor) else { return Vec::new() };
        let threads = held.layout.mode(0).size();
        let scope = self.tile.scope(self.tile.tensor(tensor).scope);
        let first = i64::from(scope.first);
        let thread = (i64::from(self.thread()) - first).rem_euclid(i64::from(scope.threads.max(1)));
        let file = self.playback.registers(self.focus().id, array);
        let value = |position: i64| {
            let mut index = held.layout.eval(thread % threads + threads * position);
            let coordinate: Vec<i64> = held.tile.iter().map(|extent| digit(&mut index, *extent)).collect();
            let is_inside = coordinate.iter().zip(&named.shape).all(|(at, extent)| at < extent);
            let bits = file.and_then(|file| file.value(self.thread(), position as usize));
            let text = bits.map_or_else(|| "-".to_owned(), |bits| show_bits(named.dtype, bits));
            is_inside.then_some((coordinate, position as usize, text))
        };
        (0..held.layout.size() / threads).filter_map(value).collect()
    }

    /// Returns the thread in focus if it holds an element of a register tensor, otherwise the first one of the agent that does,
    /// with the position of the value.
    pub(super) fn holder(&self, tensor: TensorId, coordinate: &[i64]) -> Option<(u32, usize)> {
        let index = colex(&self.solution.registers.get(&tensor)?.tile, coordinate);
        let mut of = self.holders(tensor).into_iter().filter(|(other, _)| *other == index);
        of.next().map(|(_, holder)| holder)
    }

    /// Returns one holder of each element, with the element's colexicographic index in the tile: the thread in focus if it
    /// holds the element, otherwise the first thread that does.
    fn holders(&self, tensor: TensorId) -> Vec<(i64, (u32, usize))> {
        let Some(held) = self.solution.registers.get(&tensor) else { return Vec::new() };
        let scope = self.tile.scope(self.tile.tensor(tensor).scope);
        let thread = self.thread();
        let group = thread.checked_sub(scope.first).map_or(0, |thread| thread / scope.threads.max(1));
        let first = scope.first + group.min(scope.groups.saturating_sub(1)) * scope.threads;
        let (threads, all) = (held.layout.mode(0).size(), held.layout.size());
        let mut out: Vec<(i64, (u32, usize))> = (0..all)
            .map(|at| (held.layout.eval(at), (first + (at % threads) as u32, (at / threads) as usize)))
            .collect();
        out.sort_by_key(|(index, holder)| (*index, holder.0 != thread, *holder));
        out.dedup_by_key(|(index, _)| *index);
        out
    }
}

/// Takes the coordinate along a dimension off a colexicographic index.
fn digit(index: &mut i64, extent: i64) -> i64 {
    let at = *index % extent;
    *index /= extent;
    at
}

/// Returns the colexicographic index of a coordinate.
fn colex(extents: &[i64], coordinate: &[i64]) -> i64 {
    let (mut index, mut stride) = (0, 1);
    for (extent, at) in extents.iter().zip(coordinate) {
        index += at * stride;
        stride *= extent;
    }
    index
}

//! Records who wrote each element of one tensor, and the region of every tensor that each operation of a block reached.
//!
//! A run records only if [`Config::watch`](crate::Config::watch) names a parameter. Blocks record for themselves; the records
//! are merged in an order that follows from the seed, so that they do not depend on the number of cores.

use std::collections::BTreeMap;

use crate::code::{Code, SiteId};
use crate::error::Place;
use crate::global::{Tensor, coordinate};
use crate::grid::block_index;

/// The last write to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrote {
    /// The number of the block in the grid, x fastest.
    pub block: u32,
    /// The thread in its block. For a bulk copy, the thread that issued it.
    pub thread: u32,
    /// The position of the operation in [`Witness::places`].
    pub site: u32,
    /// The position of the value among the thread's values of the tensor that it stored; `None` if the value did not come from a
    /// register of this thread.
    pub value: Option<u32>,
}

/// The smallest box around the elements of a tensor that one execution of an operation read or wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reached {
    /// The number of the block in the grid, x fastest.
    pub block: u32,
    /// The position of the operation in [`Witness::places`].
    pub site: u32,
    /// The position of the parameter.
    pub param: usize,
    pub write: bool,
    /// The first coordinate along each dimension, and one past the last.
    pub region: [Vec<i64>; 2],
}

/// Values of one block to follow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Follow {
    /// The number of the block in the grid, x fastest.
    pub block: u32,
    /// The element of the watched tensor, by its offset, whose last write ends the record of changes.
    pub element: i64,
    pub values: Vec<RegisterValue>,
}

/// A value that a thread holds in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterValue {
    /// The thread in its block.
    pub thread: u32,
    /// The position of the array in [`hx_thread::ThreadProgram::registers`].
    pub array: usize,
    /// The position of the value among the thread's values of the array.
    pub value: u32,
}

/// A write of a followed value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The position in [`Follow::values`].
    pub value: usize,
    /// The position of the operation in [`Witness::places`].
    pub site: u32,
    /// The value after the operation, in the element type of its array.
    pub bits: u64,
}

/// The record of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Witness {
    /// The number of blocks along each axis.
    pub grid: [u64; 3],
    /// The shape and the strides of the watched tensor.
    dims: [Vec<i64>; 2],
    /// The operations of the program.
    pub places: Vec<Place>,
    /// The last write to each element of the watched tensor, by the element's offset.
    pub writes: Vec<Option<Wrote>>,
    /// In the order in which the blocks were merged; those of a block in the order of its run.
    pub reached: Vec<Reached>,
    /// The changes of the followed values up to the last write to [`Follow::element`], in the order of the run. A write counts even if
    /// the value stays as it is. At most 65536.
    pub changes: Vec<Change>,
    /// The blocks that wrote [`Follow::element`], in the order in which they were merged.
    pub writers: Vec<u32>,
}

/// The maximal number of recorded regions of a block.
const BOXES: usize = 1 << 12;
/// The maximal number of recorded changes.
const CHANGES: usize = 1 << 16;

impl Witness {
    pub(crate) fn new(code: &Code, grid: [u64; 3], watched: Option<&Tensor>) -> Witness {
        let places = code.sites.iter().map(|site| site.place(None, None)).collect();
        let elements = watched.map_or(0, |tensor| tensor.span as usize);
        let dims = watched.map(|tensor| [tensor.shape.clone(), tensor.stride.clone()]).unwrap_or_default();
        Witness { grid, dims, places, writes: vec![None; elements], ..Witness::default() }
    }

    /// Appends the record of block `number`.
    pub(crate) fn merge(&mut self, number: u64, block: BlockWitness) {
        for (element, (thread, site, value)) in block.writes {
            if let Some(write) = self.writes.get_mut(element as usize) {
                *write = Some(Wrote { block: number as u32, thread, site, value });
            }
        }
        let until = if block.wrote_element { block.boxes_until } else { block.boxes.len() };
        for Region { key: (site, param, write), region } in block.boxes.into_iter().take(until) {
            self.reached.push(Reached { block: number as u32, site, param, write, region });
        }
        self.writers.extend(block.wrote_element.then_some(number as u32));
        self.changes.extend(block.changes.into_iter().take(block.until));
    }

    /// Returns the coordinate of an element of the watched tensor, given by its offset; `None` as for [`crate::coordinate`].
    pub fn coordinate(&self, element: i64) -> Option<Vec<i64>> {
        let [shape, stride] = &self.dims;
        coordinate(shape, stride, element)
    }

    /// Returns the index of a block along each axis.
    pub fn block_index(&self, number: u32) -> [u32; 3] {
        block_index(self.grid, u64::from(number))
    }
}

/// The region of one execution of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The operation, the position of the parameter, and whether the access is a write.
    key: (SiteId, usize, bool),
    region: [Vec<i64>; 2],
}

/// A value that is followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followed {
    pub(crate) value: RegisterValue,
    /// The value that was recorded last; `None` before the first.
    pub(crate) last: Option<u64>,
    /// The asynchronous product in flight that writes the value; `None` if there is none.
    pub(crate) pending: Option<SiteId>,
}

/// The record of one block.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockWitness {
    /// The position of the watched parameter.
    pub(crate) watched: usize,
    /// The last write to each element of the watched tensor: thread, operation and position of the value.
    pub(crate) writes: BTreeMap<i64, (u32, SiteId, Option<u32>)>,
    /// In the order of the run.
    pub(crate) boxes: Vec<Region>,
    /// For each operation, parameter and direction, the position of its last box.
    open: BTreeMap<(SiteId, usize, bool), usize>,
    /// The operation that ran last; `None` before the first.
    pub(crate) current: Option<SiteId>,
    /// The number of boxes up to the last write to the element.
    pub(crate) boxes_until: usize,
    pub(crate) followed: Vec<Followed>,
    /// The operation of the last step that wrote registers; `None` before the first.
    pub(crate) running: Option<SiteId>,
    pub(crate) changes: Vec<Change>,
    /// The element of the watched tensor whose writes set `until`; `None` if nothing is followed.
    pub(crate) element: Option<i64>,
    /// The number of changes before the last write to the element.
    pub(crate) until: usize,
    pub(crate) wrote_element: bool,
}

impl BlockWitness {
    /// Makes the record of block `number`.
    pub(crate) fn new(watched: usize, follow: Option<&Follow>, number: u32) -> BlockWitness {
        let here = follow.filter(|follow| follow.block == number);
        let unwritten = |value: &RegisterValue| Followed { value: *value, last: None, pending: None };
        let followed = here.into_iter().flat_map(|follow| &follow.values).map(unwritten).collect();
        let element = follow.map(|follow| follow.element);
        BlockWitness { watched, followed, element, ..BlockWitness::default() }
    }

    /// Reports whether the block has followed values, and room to record their changes.
    pub(crate) fn follows(&self) -> bool {
        !self.followed.is_empty() && self.changes.len() < CHANGES
    }

    /// Records that an operation has written a followed value. The steps of one execution of an operation count as one change.
    pub(crate) fn changed(&mut self, number: usize, site: SiteId, bits: u64) {
        self.followed[number].last = Some(bits);
        let same = |change: &&mut Change| change.value == number && change.site == site;
        match self.changes.iter_mut().rev().find(|change| change.value == number).filter(same) {
            Some(last) if self.running == Some(site) => last.bits = bits,
            _ => self.changes.push(Change { value: number, site, bits }),
        }
    }

    /// Records an access to the `len` bytes of `tensor` from byte `at` on. `len` is at least 1.
    pub(crate) fn reach(
        &mut self,
        (site, param, write): (SiteId, usize, bool),
        tensor: &Tensor,
        (at, len): (usize, usize),
    ) {
        let key = (site, param, write);
        let is_new = self.current != Some(site) && self.boxes.len() < BOXES;
        self.current = Some(site);
        let last = tensor.element_of(at + len - 1).min(tensor.span - 1);
        let ends = [tensor.element_of(at), last].map(|element| tensor.coordinate(element));
        let [Some(first), Some(last)] = ends else { return };
        let open = self.open.get(&key).copied().filter(|_| !is_new);
        let Some(open) = open.and_then(|open| self.boxes.get_mut(open)) else {
            self.open.insert(key, self.boxes.len());
            let mut region = [first.clone(), first.iter().map(|c| c + 1).collect()];
            widen(&mut region, &last);
            self.boxes.push(Region { key, region });
            return;
        };
        for coordinate in [first, last] {
            widen(&mut open.region, &coordinate);
        }
    }
}

/// Widens a region to include a coordinate.
fn widen([from, to]: &mut [Vec<i64>; 2], coordinate: &[i64]) {
    for ((from, to), c) in from.iter_mut().zip(to).zip(coordinate) {
        *from = (*from).min(*c);
        *to = (*to).max(c + 1);
    }
}

//! Layouts that were met in one run of the solver, each kept once, with what was computed of them.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use hx_dtype::DType;
use hx_target::CopyRow;

use crate::access::Access;
use crate::distribution::{Tv, layout_of_table};
use crate::shared;

/// Equal layouts are the same `Rc`, so that comparing and looking up cost nothing. Nothing is ever dropped before the pool is.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    layouts: RefCell<HashSet<Rc<Tv>>>,
    projections: RefCell<HashMap<Projection, Rc<Tv>>>,
    positions: RefCell<HashMap<[LayoutKey; 2], Option<Rc<[i64]>>>>,
    accesses: RefCell<HashMap<Moved, Rc<[Access]>>>,
    regular: RefCell<HashMap<[LayoutKey; 2], bool>>,
    /// What was found for shared tensors with the same accesses, whatever else is in the program.
    pub(crate) buffers: RefCell<shared::Known>,
    /// Addresses that were looked at for layouts of shared memory.
    pub(crate) looked: Cell<u64>,
    /// Branches looked at, in all attempts of the run.
    pub(crate) branches: Cell<usize>,
}

/// A layout with the extents of what is moved of it, its element type, and the row that moves it.
type Moved = (LayoutKey, Vec<i64>, DType, *const CopyRow);

/// A layout, the axes that are collapsed, and whether its values keep their number.
type Projection = (LayoutKey, Vec<usize>, bool);

/// Stands for a layout of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct LayoutKey(usize);

pub(crate) fn key(tv: &Rc<Tv>) -> LayoutKey {
    LayoutKey(Rc::as_ptr(tv) as usize)
}

impl Pool {
    pub(crate) fn keep(&self, tv: Tv) -> Rc<Tv> {
        let mut layouts = self.layouts.borrow_mut();
        if let Some(known) = layouts.get(&tv) {
            return known.clone();
        }
        let kept = Rc::new(tv);
        layouts.insert(kept.clone());
        kept
    }

    /// [`Tv::project`]
    pub(crate) fn project(&self, tv: &Rc<Tv>, axes: &[usize]) -> Rc<Tv> {
        self.projected(tv, axes, false)
    }

    /// [`Tv::project_values`]
    pub(crate) fn project_values(&self, tv: &Rc<Tv>, axes: &[usize]) -> Rc<Tv> {
        if axes.is_empty() { tv.clone() } else { self.projected(tv, axes, true) }
    }

    fn projected(&self, tv: &Rc<Tv>, axes: &[usize], values: bool) -> Rc<Tv> {
        let projection = (key(tv), axes.to_vec(), values);
        if let Some(known) = self.projections.borrow().get(&projection) {
            return known.clone();
        }
        let made = self.keep(if values { tv.project_values(axes) } else { tv.project(axes) });
        self.projections.borrow_mut().insert(projection, made.clone());
        made
    }

    /// The ways in which a row moves a tile of elements that is held in a layout, made once.
    pub(crate) fn accesses(
        &self,
        tv: &Rc<Tv>,
        shape: &[i64],
        dtype: DType,
        row: &'static CopyRow,
        make: impl FnOnce() -> Vec<Access>,
    ) -> Rc<[Access]> {
        let moved = (key(tv), shape.to_vec(), dtype, std::ptr::from_ref(row));
        if let Some(known) = self.accesses.borrow().get(&moved) {
            return known.clone();
        }
        let made: Rc<[Access]> = make().into();
        self.accesses.borrow_mut().insert(moved, made.clone());
        made
    }

    /// [`Tv::positions_of`]
    pub(crate) fn positions(&self, held: &Rc<Tv>, wanted: &Rc<Tv>) -> Option<Rc<[i64]>> {
        let pair = [key(held), key(wanted)];
        if let Some(known) = self.positions.borrow().get(&pair) {
            return known.clone();
        }
        let found: Option<Rc<[i64]>> = held.positions_of(wanted).map(Into::into);
        self.positions.borrow_mut().insert(pair, found.clone());
        found
    }

    /// Whether every thread of `held` has what `wanted` asks for, at positions that are a layout over its values.
    pub(crate) fn reads(&self, held: &Rc<Tv>, wanted: &Rc<Tv>) -> bool {
        let pair = [key(held), key(wanted)];
        if pair[0] == pair[1] {
            return true;
        }
        if let Some(known) = self.regular.borrow().get(&pair) {
            return *known;
        }
        let extents: Vec<i64> = wanted.value.iter().map(|m| m.extent).collect();
        let table = self.positions(held, wanted);
        let regular = table.is_some_and(|table| layout_of_table(&extents, &table).is_some());
        self.regular.borrow_mut().insert(pair, regular);
        regular
    }
}

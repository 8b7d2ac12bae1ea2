//! The pool: keeps each layout of one run of the solver once, with the results computed from it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hx_dtype::DType;
use hx_target::{CopyRow, Target};
use hx_tile::{OpId, Route, TileProgram};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::access::Access;
use crate::access::alignment::Alignment;
use crate::anchor::gemm::{Gemm, Tiling};
use crate::distribution::{LayoutKey, ThreadValueLayout, key, layout_of_table};
use crate::failure::Failure;
use crate::search::wish::Wish;
use crate::shared::buffer::SolvedBuffers;
use crate::shared::measured::{Measured, MeasuredOf};

/// Interns layouts: equal layouts are the same `Rc`, so comparisons and lookups are cheap. The pool keeps every layout until it
/// is dropped.
///
/// A pool belongs to one program. Attempts add redistributions, and tensors of the same shape and type, to the program. They
/// never change an operation's view of a memory, so results that depend on an operation and the layouts of its tensors hold for
/// all attempts.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    target: Target,
    /// The alternative that the run must take.
    pub(crate) wish: Wish,
    layouts: RefCell<FxHashSet<Rc<ThreadValueLayout>>>,
    projections: RefCell<FxHashMap<Projection, Rc<ThreadValueLayout>>>,
    positions: RefCell<FxHashMap<[LayoutKey; 2], Positions>>,
    accesses: RefCell<FxHashMap<Moved, Rc<[Access]>>>,
    regular: RefCell<FxHashMap<[LayoutKey; 2], bool>>,
    tilings: RefCell<FxHashMap<Tiled, Tilings>>,
    /// True for operands that the instructions of a product can read: [`Tiling::reads`].
    pub(crate) read: RefCell<FxHashMap<ReadOf, bool>>,
    alignments: RefCell<FxHashMap<OpId, Rc<Alignment>>>,
    pub(crate) costs: RefCell<FxHashMap<CostOf, f64>>,
    pub(crate) ideals: RefCell<FxHashMap<(OpId, LayoutKey, bool), f64>>,
    pub(crate) routes: RefCell<FxHashMap<RouteOf, Option<(Route, f64)>>>,
    /// Lower bounds on the cycles of accesses in exchanges through shared memory, as far as they were computed.
    pub(crate) exchanges: RefCell<FxHashMap<ExchangeOf, f64>>,
    pub(crate) measured: RefCell<FxHashMap<MeasuredOf, Rc<Measured>>>,
    /// The solutions of shared tensors, which depend on a tensor's accesses only and not on the rest of the program.
    pub(crate) buffers: RefCell<SolvedBuffers>,
    /// Addresses that were counted for layouts of shared memory.
    pub(crate) looked: Cell<u64>,
    /// Solutions that were started because the bound from their layouts alone did not rule them out.
    pub(crate) made: Cell<usize>,
    /// Branches searched, in all attempts of the run.
    pub(crate) branches: Cell<usize>,
}

/// For each value of the second layout, its position in the first; `None` if some thread lacks it there.
type Positions = Option<Rc<[i64]>>;

/// An operand of a product: the layout in which it is held, the layout in the order of the instructions, and its extents.
pub(crate) type ReadOf = ([LayoutKey; 2], [i64; 4]);

/// A layout with the extents of the tile that is moved, its element type, and the row that moves it.
type Moved = (LayoutKey, Vec<i64>, DType, *const CopyRow);

/// The inputs of the cycles of one execution: an operation, the layouts of its tensors, whether collective copies are excluded
/// and, if warps may meet in the operation, the bits of the cycles for which an exchange through shared memory stalls the
/// block.
pub(crate) type CostOf = (OpId, Vec<LayoutKey>, bool, u64);

/// A route between two layouts: the element type, the number of elements, and the bits of the cycles for which an exchange
/// through shared memory stalls the block.
pub(crate) type RouteOf = ([LayoutKey; 2], DType, i64, u64);

/// An exchange through shared memory between two layouts: the element type, the number of elements, the bits of the trip count,
/// and whether collective copies are excluded.
pub(crate) type ExchangeOf = ([LayoutKey; 2], DType, i64, u64, bool);

/// A product, which of its operands are in registers, and the bits of the elements from which one is widened. An operation keeps
/// its other inputs in all attempts.
type Tiled = (OpId, [bool; 2], Option<u32>);

/// The ways to tile a product.
pub(crate) type Tilings = Rc<[Rc<Tiling>]>;

/// A layout, the axes that are collapsed, and whether the values keep their number.
type Projection = (LayoutKey, Vec<usize>, bool);

impl Pool {
    /// Returns the pool of a run that takes the instructions that the program names.
    pub(crate) fn new(program: &TileProgram) -> Pool {
        Pool::wishing(program, Wish::default())
    }

    /// Returns the pool of a run that must take an alternative, also to the instructions that the program names.
    pub(crate) fn wishing(program: &TileProgram, mut wish: Wish) -> Pool {
        for (op, pin) in &program.pins {
            wish.rows.entry(*op).or_insert_with(|| pin.rows.clone());
        }
        Pool { target: program.target, wish, ..Pool::default() }
    }

    pub(crate) fn target(&self) -> Target {
        self.target
    }

    pub(crate) fn keep(&self, layout: ThreadValueLayout) -> Rc<ThreadValueLayout> {
        let mut layouts = self.layouts.borrow_mut();
        if let Some(known) = layouts.get(&layout) {
            return known.clone();
        }
        let kept = Rc::new(layout);
        layouts.insert(kept.clone());
        kept
    }

    /// Returns [`ThreadValueLayout::project`], which it remembers.
    pub(crate) fn project(&self, layout: &Rc<ThreadValueLayout>, axes: &[usize]) -> Rc<ThreadValueLayout> {
        self.projected(layout, axes, false)
    }

    /// Returns [`ThreadValueLayout::project_values`], which it remembers.
    pub(crate) fn project_values(
        &self,
        layout: &Rc<ThreadValueLayout>,
        axes: &[usize],
    ) -> Rc<ThreadValueLayout> {
        if axes.is_empty() { layout.clone() } else { self.projected(layout, axes, true) }
    }

    fn projected(
        &self,
        layout: &Rc<ThreadValueLayout>,
        axes: &[usize],
        values: bool,
    ) -> Rc<ThreadValueLayout> {
        let projection = (key(layout), axes.to_vec(), values);
        if let Some(known) = self.projections.borrow().get(&projection) {
            return known.clone();
        }
        let lanes = self.target.limits.lanes;
        let made =
            self.keep(if values { layout.project_values(axes, lanes) } else { layout.project(axes, lanes) });
        self.projections.borrow_mut().insert(projection, made.clone());
        made
    }

    /// Returns the ways in which a row moves a tile of elements held in a layout, computed once.
    pub(crate) fn accesses(
        &self,
        layout: &Rc<ThreadValueLayout>,
        shape: &[i64],
        dtype: DType,
        row: &'static CopyRow,
        make: impl FnOnce() -> Vec<Access>,
    ) -> Rc<[Access]> {
        let moved = (key(layout), shape.to_vec(), dtype, std::ptr::from_ref(row));
        if let Some(known) = self.accesses.borrow().get(&moved) {
            return known.clone();
        }
        let made: Rc<[Access]> = make().into();
        self.accesses.borrow_mut().insert(moved, made.clone());
        made
    }

    /// Returns the limits on the width of an operation's accesses to global memory, computed once.
    pub(crate) fn alignment(&self, op: OpId, find: impl FnOnce() -> Alignment) -> Rc<Alignment> {
        if let Some(known) = self.alignments.borrow().get(&op) {
            return known.clone();
        }
        let found = Rc::new(find());
        self.alignments.borrow_mut().insert(op, found.clone());
        found
    }

    /// Returns the ways to tile a product, computed once.
    ///
    /// # Errors
    /// As `make`.
    pub(crate) fn tilings(
        &self,
        gemm: &Gemm<'_>,
        packed: Option<u32>,
        make: impl FnOnce() -> Result<Vec<Tiling>, Failure>,
    ) -> Result<Tilings, Failure> {
        let tiled = (gemm.op.id, gemm.registers().map(|tensor| tensor.is_some()), packed);
        if let Some(known) = self.tilings.borrow().get(&tiled) {
            return Ok(known.clone());
        }
        let made: Tilings = make()?.into_iter().map(Rc::new).collect();
        self.tilings.borrow_mut().insert(tiled, made.clone());
        Ok(made)
    }

    /// Returns [`ThreadValueLayout::positions_of`], which it remembers.
    pub(crate) fn positions(
        &self,
        held: &Rc<ThreadValueLayout>,
        wanted: &Rc<ThreadValueLayout>,
    ) -> Option<Rc<[i64]>> {
        let pair = [key(held), key(wanted)];
        if let Some(known) = self.positions.borrow().get(&pair) {
            return known.clone();
        }
        let found: Option<Rc<[i64]>> = held.positions_of(wanted).map(Into::into);
        self.positions.borrow_mut().insert(pair, found.clone());
        found
    }

    /// Reports whether every thread of `held` has the elements of `wanted`, at positions that a layout over `wanted`'s values
    /// describes.
    pub(crate) fn reads(&self, held: &Rc<ThreadValueLayout>, wanted: &Rc<ThreadValueLayout>) -> bool {
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

//! The accesses to one shared tensor, the instructions that may make them, and the solutions that are kept.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use hx_layout::{Layout, Swizzle};
use hx_target::{BulkRow, ReachRow};
use hx_tile::{Conflicts, Op, OpId, Tensor, TensorId, TileProgram, View};
use rustc_hash::FxHashMap;

use super::constraint::Constraint;
use super::issued::Issued;
use super::measured::Measured;
use crate::access::{Access, Transfer};
use crate::distribution::{LayoutKey, ThreadValueLayout};
use crate::failure::Failure;

/// An access of an operation to a shared tensor: one end of a copy or of an exchange, or an operand that a product reads.
#[derive(Clone, Debug)]
pub(crate) struct Use<'p> {
    pub(crate) op: &'p Op,
    /// The view of the shared tensor.
    pub(super) view: Cow<'p, View>,
    /// Extents of the tile that the use accesses.
    pub(super) shape: Vec<i64>,
    pub(super) reads: bool,
    pub(super) end: End<'p>,
    pub(super) trips: f64,
}

/// The end of a use that is not the shared tensor.
#[derive(Clone, Debug)]
pub(super) enum End<'p> {
    /// A register tensor with its layout.
    Register(Rc<ThreadValueLayout>),
    /// The view of global memory that an asynchronous copy reads, or that a bulk store writes.
    Global(&'p View),
    /// The instructions of a product, which read the operand by descriptor.
    Operand(Issued),
}

/// The means by which a use reaches its elements.
#[derive(Clone, Debug)]
pub(crate) enum By {
    /// Each thread takes part with an address of its own.
    Access(Access),
    /// By descriptor: the operand (0 for A, 1 for B) and its form in memory.
    Reach(usize, &'static ReachRow),
    /// By one thread, in boxes or runs.
    Boxes(Boxes),
}

/// The boxes or runs of a copy.
#[derive(Clone, Debug)]
pub(crate) struct Boxes {
    pub(crate) row: &'static BulkRow,
    /// All dimensions of the tensor in global memory, the contiguous one first.
    pub(crate) dims: Vec<usize>,
    /// The extent of a box or run along each of `dims`.
    pub(crate) extents: Vec<u32>,
    /// Alignment of the start of each box or run in shared memory, in bytes.
    pub(super) align: u32,
    /// The mode of the tile whose boxes the blocks of a cluster deal out; `None` if each block copies the whole tile:
    /// [`hx_tile::BulkChoice::share`].
    pub(crate) share: Option<usize>,
    /// The reason why each block of the cluster copies the whole tile although the copy is for all of them; `None` for other
    /// copies.
    pub(super) alone: Option<String>,
}

impl By {
    pub(crate) fn access(&self) -> Option<&Access> {
        match self {
            By::Access(access) => Some(access),
            By::Reach(..) | By::Boxes(_) => None,
        }
    }

    /// Returns the contiguous elements at an address; 1 for operands and boxes, whose constraints have all that they need.
    pub(super) fn width(&self) -> i64 {
        self.access().map_or(1, |access| access.run.width())
    }

    /// Returns the bytes that an instruction moves for each lane; 0 for operands and boxes.
    pub(super) fn bytes(&self) -> u32 {
        self.access().map_or(0, |access| access.row.bytes)
    }

    /// Returns the name of the row in the catalogue.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            By::Access(access) => &access.row.name,
            By::Reach(_, reach) => &reach.name,
            By::Boxes(boxes) => &boxes.row.name,
        }
    }
}

impl<'p> Use<'p> {
    /// Returns the name of the instruction that accesses the tensor by these means: for an operand, that of the product.
    pub(super) fn instruction(&self, by: &By) -> &'static str {
        match &self.end {
            End::Operand(issued) => issued.name(),
            End::Register(_) | End::Global(_) => by.name(),
        }
    }

    pub(crate) fn register(
        program: &TileProgram,
        transfer: Transfer<'p>,
        layout: Rc<ThreadValueLayout>,
        trips: f64,
    ) -> Use<'p> {
        let shape = program.tensor(transfer.register).shape.clone();
        let (view, end) = (Cow::Borrowed(transfer.memory), End::Register(layout));
        Use { op: transfer.op, view, shape, reads: transfer.is_load, end, trips }
    }

    /// Returns one end of an exchange between threads.
    pub(crate) fn exchange(
        op: &'p Op,
        view: View,
        layout: Rc<ThreadValueLayout>,
        reads: bool,
        trips: f64,
    ) -> Use<'p> {
        Use { op, shape: view.shape(), view: Cow::Owned(view), reads, end: End::Register(layout), trips }
    }

    pub(crate) fn asynchronous(op: &'p Op, src: &'p View, dst: &'p View, trips: f64) -> Use<'p> {
        Use { op, view: Cow::Borrowed(dst), shape: src.shape(), reads: false, end: End::Global(src), trips }
    }

    /// Returns a store of a tile to global memory, in boxes or runs.
    pub(crate) fn store(op: &'p Op, src: &'p View, dst: &'p View, trips: f64) -> Use<'p> {
        Use { op, view: Cow::Borrowed(src), shape: src.shape(), reads: true, end: End::Global(dst), trips }
    }

    /// Returns an operand that the instructions of a product read by descriptor.
    pub(crate) fn operand(op: &'p Op, view: &'p View, issued: Issued, trips: f64) -> Use<'p> {
        let end = End::Operand(issued);
        Use { op, shape: view.shape(), view: Cow::Borrowed(view), reads: true, end, trips }
    }

    /// Returns the shared tensor; `None` if the view shows another memory.
    pub(super) fn tensor(&self) -> Option<TensorId> {
        self.view.base.shared()
    }
}

/// The solution of one shared tensor.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) layout: Layout,
    pub(crate) swizzle: Swizzle,
    pub(crate) bytes: u32,
    /// Bytes of a whole block of the swizzle.
    pub(crate) block: u32,
    pub(crate) constraint: Constraint,
    /// The choices, one for each use, in the order of the uses.
    pub(crate) accesses: Vec<Chosen>,
    pub(crate) cost: f64,
    /// Uses that would have a wider access without the other uses.
    pub(crate) narrowed: Vec<OpId>,
    /// Choices of instructions, layouts and swizzles that were not tried.
    pub(crate) left: u64,
}

/// The choice for one use.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) op: OpId,
    pub(crate) by: By,
    pub(crate) constraint: Constraint,
    pub(crate) conflicts: Conflicts,
    /// The reason why the access is not wider.
    pub(crate) why: String,
}

/// A candidate access of a use.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) by: By,
    pub(super) constraint: Constraint,
    /// Cycles of all executions, without bank conflicts.
    pub(super) cost: f64,
    /// The part of `cost` that an asynchronous copy or a bulk store spends on global memory; 0 for the other uses.
    pub(super) global: f64,
    /// Cycles of one execution without that part.
    pub(super) alone: f64,
    /// The addresses of the lanes, computed when they are first asked for.
    pub(super) measured: OnceCell<Rc<Measured>>,
}

impl Candidate {
    /// Builds a candidate from the cycles of all executions, the part of them on global memory, and the cycles of one execution
    /// without that part.
    pub(super) fn new(by: By, constraint: Constraint, [cost, global, alone]: [f64; 3]) -> Candidate {
        Candidate { by, constraint, cost, global, alone, measured: OnceCell::new() }
    }
}

/// An instruction that could serve a use under another view, another pin, or another alignment of the addresses.
#[derive(Debug)]
pub(super) struct Barred {
    pub(super) by: By,
    /// Its constraint on the tensor, if some layout can meet it.
    pub(super) constraint: Option<Constraint>,
    pub(super) why: String,
}

/// The instructions of one use.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// Cheapest first.
    pub(super) usable: Vec<Candidate>,
    /// Widest first.
    pub(super) barred: Vec<Barred>,
    /// The reasons why no thread makes the copy in boxes or runs, although the operation allows this; `None` if there are
    /// none.
    pub(super) unboxed: Option<String>,
    /// True if the copy is for all blocks of a cluster along an axis.
    pub(super) multicast: bool,
}

impl Options {
    /// Returns the access that moves the fewest contiguous elements; `None` if no instruction takes an address from each
    /// thread, as for an operand that is read by descriptor or a store in boxes.
    pub(super) fn least(&self) -> Option<&Access> {
        let usable = self.usable.iter().map(|candidate| &candidate.by);
        let all = usable.chain(self.barred.iter().map(|barred| &barred.by)).filter_map(By::access);
        all.min_by_key(|access| access.run.width())
    }
}

/// A constraint, unified from one instruction of each use.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    pub(super) constraint: Constraint,
    /// For each use, the index among its usable candidates of the one in the cheapest combination with this constraint.
    pub(super) chosen: Vec<usize>,
    /// Cycles of that combination, without bank conflicts.
    pub(super) cost: f64,
    /// Cycles of that combination without the time that asynchronous copies and bulk stores spend on global memory: a lower
    /// bound.
    pub(super) least: f64,
}

/// All unified constraints.
#[derive(Debug)]
pub(super) struct Joints {
    /// Sorted by the cost of the combination, cheapest first.
    pub(super) all: Vec<Joint>,
    /// Number of constraints that were pruned, summed over the uses after which pruning took place.
    pub(super) left: u64,
}

/// The inputs of a shared tensor's solution, except for the tensor itself: its uses with the layouts of their register tensors.
/// An operation determines its view, and an exchange uses the whole tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Question {
    pub(super) id: TensorId,
    pub(super) single: bool,
    /// Operation, direction, the other end, and the bits of the trip count.
    pub(super) uses: Vec<(OpId, bool, EndKey, u64)>,
}

/// The other end of a use, as far as the operation does not determine it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum EndKey {
    Register(LayoutKey),
    Global,
    Operand(Issued),
}

/// The partial or complete solution of a shared tensor.
#[derive(Debug)]
pub(super) struct Asked {
    /// The instructions of each use.
    pub(super) options: Vec<Options>,
    pub(super) joints: Joints,
    /// The solution with the steps that it took, once it is known.
    pub(super) answer: RefCell<Option<(Result<Buffer, Failure>, u64)>>,
    /// No solution takes fewer cycles than these.
    pub(super) more_than: Cell<f64>,
}

/// The solutions of shared tensors. Programs that differ only in redistributions share many of them.
#[derive(Debug, Default)]
pub(crate) struct SolvedBuffers(pub(super) FxHashMap<Question, Vec<Solved>>);

/// A shared tensor and its solution. The tensor itself is kept because tensors of exchanges have numbers that other tensors have
/// in other attempts.
type Solved = (Tensor, Result<Rc<Asked>, Failure>);

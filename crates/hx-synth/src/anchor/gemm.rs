//! Matrix products and their tilings, as data.

use std::rc::Rc;

use hx_dtype::DType;
use hx_target::GemmRow;
use hx_tile::{Op, OpKind, TensorId, TileMode, TileProgram, View};

use crate::distribution::ThreadValueLayout;

/// A way to tile a gemm with one instruction.
#[derive(Clone, Debug)]
pub(crate) struct Tiling {
    pub(crate) row: &'static GemmRow,
    /// Units (groups of `row.threads` threads: a warp, several warps, or one thread) along M, N and the batch. Units beyond these
    /// repeat the work.
    pub(crate) arrangement: [i64; 3],
    /// Units that compute the same tile; 1 if no work is repeated.
    pub(crate) copies: i64,
    /// Instructions of one unit along M, N, K and the batch.
    pub(crate) issues: [i64; 4],
    pub(crate) c: Rc<ThreadValueLayout>,
    /// The accumulator with its values in the order of the instructions: `[value, m issue, n issue, batch issue]`.
    pub(crate) c_by_issue: Rc<ThreadValueLayout>,
    /// A and B; `None` for one that the instructions read from shared memory.
    pub(crate) operands: [Option<OperandLayout>; 2],
}

/// The layout of an operand in registers.
#[derive(Clone, Debug)]
pub(crate) struct OperandLayout {
    pub(crate) layout: Rc<ThreadValueLayout>,
    /// The layout of the same fragments, whose values follow the order of the instructions:
    /// `[value, m issue, k issue, batch issue]` for A, `[value, n issue, k issue, batch issue]` for B.
    pub(crate) by_issue: Rc<ThreadValueLayout>,
}

/// The tensors and the shape of a gemm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm<'p> {
    pub(crate) op: &'p Op,
    pub(crate) c: TensorId,
    /// The views of A and B.
    pub(crate) views: [&'p View; 2],
    pub(crate) pinned: Option<[i64; 3]>,
    pub(crate) shape: Shape,
}

/// The extents of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) m: i64,
    pub(crate) n: i64,
    pub(crate) k: i64,
    /// Number of independent products, if the tensors have a third mode.
    pub(crate) batch: Option<i64>,
}

impl Shape {
    /// Returns the shape of an operand's tile: its two own extents, then `batch` if there is a third mode.
    pub(super) fn tile(&self, extents: [i64; 2], batch: i64) -> Vec<i64> {
        extents.into_iter().chain(self.batch.map(|_| batch)).collect()
    }

    pub(super) fn still(&self, extent: i64) -> TileMode {
        TileMode::new(extent, self.tile([0, 0], 0))
    }

    /// Returns a mode of `extent` steps of `stride` along the tensor's mode `mode`. The strides are 0 if the tensor lacks a third
    /// mode; the extent is 1 then.
    pub(super) fn step(&self, extent: i64, mode: usize, stride: i64) -> TileMode {
        let mut strides = self.tile([0, 0], 0);
        if let Some(along) = strides.get_mut(mode) {
            *along = stride;
        }
        TileMode::new(extent, strides)
    }
}

impl<'p> Gemm<'p> {
    pub(crate) fn of(program: &TileProgram, op: &'p Op) -> Option<Gemm<'p>> {
        let OpKind::Gemm { c, a, b, warps, .. } = &op.kind else { return None };
        let sc = &program.tensor(*c).shape;
        let k = a.view.modes.get(1)?.extent;
        let shape = Shape { m: sc[0], n: sc[1], k, batch: sc.get(2).copied() };
        Some(Gemm { op, c: *c, views: [&a.view, &b.view], pinned: *warps, shape })
    }

    /// Returns the register tensors of A and B; `None` for an operand in shared memory.
    pub(crate) fn registers(&self) -> [Option<TensorId>; 2] {
        self.views.map(View::register)
    }

    /// Returns the register tensors: the accumulator, A and B.
    pub(crate) fn tensors(&self) -> [Option<TensorId>; 3] {
        let [a, b] = self.registers();
        [Some(self.c), a, b]
    }

    /// Reports whether an instruction accumulates in the memory that holds the accumulator.
    pub(crate) fn accumulates(&self, program: &TileProgram, row: &GemmRow) -> bool {
        row.accumulates_in() == program.tensor(self.c).kind.space()
    }

    /// Returns the element types of A, B and the accumulator; `None` if A or B lies in global memory.
    pub(crate) fn types(&self, program: &TileProgram) -> Option<[DType; 3]> {
        let of = |view: &View| Some(program.tensor(view.base.tensor()?).dtype);
        Some([of(self.views[0])?, of(self.views[1])?, program.tensor(self.c).dtype])
    }
}

impl Tiling {
    /// Returns the extents of [`Tiling::c_by_issue`].
    pub(crate) fn c_extents(&self) -> [i64; 4] {
        let [m, n, _, batch] = self.issues;
        [self.row.c.values(), m, n, batch]
    }

    /// Returns the number of instructions that one unit executes.
    pub(crate) fn count(&self) -> i64 {
        self.issues.iter().product()
    }
}

pub(crate) fn ceil_div(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}

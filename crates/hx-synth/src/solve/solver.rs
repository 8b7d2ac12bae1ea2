//! One run of the solver: the program, its target, and the state that all attempts share.

use std::cell::{Cell, RefCell};

use hx_target::Space;
use hx_tile::{Demand, OpKind, TensorId, TensorKind, TileProgram};

use crate::search::pool::Pool;

/// Limit on the candidates of one program besides the chosen one. If [`crate::candidates`] returns as many, there may be more.
pub const CANDIDATES: usize = 64;

/// A run of the solver.
pub(crate) struct Solver<'s> {
    pub(crate) program: &'s TileProgram,
    pub(crate) pool: &'s Pool,
    pub(crate) cancelled: &'s dyn Fn() -> bool,
    /// Lets signalled copies be made in boxes, as stores always are.
    pub(crate) in_boxes: bool,
    /// Only solutions of fewer cycles are of use: the cycles of the best solution for another route.
    pub(crate) below: f64,
    /// The constraints of the last attempt that failed, as far as they were built.
    pub(crate) built: RefCell<Vec<Demand>>,
    /// Lower bounds on the cycles of the solutions that the choice skipped, for the family with collective copies and for the one
    /// without.
    pub(crate) ended: [Cell<f64>; 2],
}

impl<'s> Solver<'s> {
    pub(crate) fn new(
        program: &'s TileProgram,
        pool: &'s Pool,
        cancelled: &'s dyn Fn() -> bool,
    ) -> Solver<'s> {
        let ended = [0, 1].map(|_| Cell::new(f64::INFINITY));
        Solver {
            program,
            pool,
            cancelled,
            in_boxes: false,
            below: f64::INFINITY,
            built: RefCell::default(),
            ended,
        }
    }

    pub(crate) fn below(self, below: f64) -> Solver<'s> {
        Solver { below, ..self }
    }

    pub(crate) fn in_boxes(self, in_boxes: bool) -> Solver<'s> {
        Solver { in_boxes, ..self }
    }

    /// Reports whether a collective copy may serve some access to shared memory. An exchange adds such accesses.
    pub(crate) fn has_collective(&self) -> bool {
        let rows = || self.program.target.rows().copies.iter().filter(|row| row.is_collective());
        let shared = |id: &TensorId| self.program.tensor(*id).kind.space() == Space::Shared;
        let exchanges =
            self.program.ops(1.0).iter().any(|(op, _)| matches!(op.kind, OpKind::Rearrange { .. }));
        exchanges
            || self.program.tensor_ids().filter(shared).any(|id| {
                let dtype = self.program.tensor(id).dtype;
                rows().any(|row| row.atom(dtype).is_some())
            })
    }

    /// Reports whether a register tensor may have any layout.
    pub(crate) fn is_free(&self, tensor: TensorId) -> bool {
        matches!(self.program.tensor(tensor).kind, TensorKind::Register { pinned: None })
    }
}

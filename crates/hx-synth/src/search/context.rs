//! The context of one run of the solver: the constraints, and what the run has kept.

use std::cell::Cell;

use hx_target::Target;
use hx_tile::TileProgram;

use crate::checks::size::Together;
use crate::constraints::System;
use crate::cost;
use crate::edits::Move;
use crate::search::pool::Pool;

/// The context that every stage of one run of the solver reads.
pub(crate) struct SolverContext<'s, 'p> {
    pub(crate) system: &'s System<'p>,
    pub(crate) pool: &'s Pool,
    pub(crate) cancelled: &'s dyn Fn() -> bool,
    /// Excludes collective copies.
    pub(crate) single: bool,
    /// Lets signalled copies be made in boxes, as stores always are.
    pub(crate) in_boxes: bool,
    /// The moves that the program already contains.
    pub(crate) moved: Vec<Move>,
    /// Branches and layouts that were tried.
    pub(crate) steps: Cell<u64>,
    pub(crate) together: Together,
    /// Cycles for which an exchange through shared memory stalls the block.
    pub(crate) drain: f64,
}

impl<'s, 'p> SolverContext<'s, 'p> {
    pub(crate) fn new(
        system: &'s System<'p>,
        pool: &'s Pool,
        cancelled: &'s dyn Fn() -> bool,
    ) -> SolverContext<'s, 'p> {
        let together = Together::of(system.program);
        let steps = Cell::new(0);
        let drain = cost::drain(system.program, together.registers(system.program));
        SolverContext {
            system,
            pool,
            cancelled,
            single: false,
            in_boxes: false,
            moved: Vec::new(),
            steps,
            together,
            drain,
        }
    }

    pub(crate) fn single(self, single: bool) -> SolverContext<'s, 'p> {
        SolverContext { single, ..self }
    }

    pub(crate) fn in_boxes(self, in_boxes: bool) -> SolverContext<'s, 'p> {
        SolverContext { in_boxes, ..self }
    }

    /// Returns the context of a program that contains these moves.
    pub(crate) fn after(self, moves: &[Move]) -> SolverContext<'s, 'p> {
        SolverContext { moved: moves.to_vec(), ..self }
    }

    pub(crate) fn target(&self) -> Target {
        self.program().target
    }

    pub(crate) fn program(&self) -> &'p TileProgram {
        self.system.program
    }
}

//! Candidates that move values to another layout first: before a store whose accesses are narrow, and for a rearrangement whose
//! target is free. The search leaves such values in place where moving them costs more than it saves.

use std::collections::BTreeSet;

use hx_tile::{Base, Op, OpId, OpKind, Solution, TensorId};

use crate::edits::Move;
use crate::failure::{Failure, FailureKind};
use crate::solve::Draft;
use crate::solve::solver::Solver;

/// Limit on the stores that are tried.
const MOST: usize = 4;

impl Solver<'_> {
    /// Returns the solution in which narrow stores get rearranged sources where that takes fewer cycles, else `best` itself.
    ///
    /// # Errors
    /// `Cancelled` if the caller cancelled.
    pub(crate) fn with_wide_stores(&self, mut best: Draft, still: &BTreeSet<OpId>) -> Result<Draft, Failure> {
        for (op, width) in self.narrow_stores(&best.solution, &best.edits.moves).into_iter().take(MOST) {
            let moves: Vec<Move> = best.edits.moves.iter().copied().chain([op]).collect();
            match self.attempt(&moves, still, best.solution.cost.min(self.below)) {
                Ok((mut draft, _)) => {
                    let is_wider = width_of(&draft.solution, op.at).is_some_and(|own| own > width);
                    if is_wider && draft.solution.cost < best.solution.cost {
                        draft.edits.widened = best.edits.widened.clone();
                        draft.edits.widened.push(op.at);
                        best = draft;
                    }
                }
                Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => return Err(blocked.failure),
                Err(_) => {}
            }
        }
        Ok(best)
    }

    /// Returns for each rearrangement that moves nothing in `best` the solution in which it moves values, and for each narrow store
    /// the one that rearranges its source first, if that makes its accesses wider.
    ///
    /// # Errors
    /// `Cancelled` if the caller cancelled.
    pub(crate) fn staged(
        &self,
        (best, moves): (&Solution, &[Move]),
        still: &BTreeSet<OpId>,
    ) -> Result<Vec<Draft>, Failure> {
        let mut found = Vec::new();
        let mut attempt = |moves: &[Move], still: &BTreeSet<OpId>, is_wanted: &dyn Fn(&Solution) -> bool| {
            match self.attempt(moves, still, f64::INFINITY) {
                Ok((draft, _)) => found.extend(is_wanted(&draft.solution).then_some(draft)),
                Err(blocked) if blocked.failure.kind == FailureKind::Cancelled => return Err(blocked.failure),
                Err(_) => {}
            }
            Ok(())
        };
        for op in still {
            let others: BTreeSet<OpId> = still.iter().copied().filter(|other| other != op).collect();
            attempt(moves, &others, &|_| true)?;
        }
        for (op, width) in self.narrow_stores(best, moves).into_iter().take(MOST) {
            let more: Vec<Move> = moves.iter().copied().chain([op]).collect();
            attempt(&more, still, &|solution| width_of(solution, op.at).is_some_and(|own| own > width))?;
        }
        Ok(found)
    }

    /// Returns the moves of the sources of stores that are narrower than the target's widest access, each with the bytes of an
    /// access.
    fn narrow_stores(&self, best: &Solution, moves: &[Move]) -> Vec<(Move, u32)> {
        let widest = self.program.target.limits.access_bytes;
        let narrow = |op: &Op| {
            let own = stored_tensor(op).map(|_| Move::of(op, 0)).filter(|own| !moves.contains(own))?;
            Some((own, width_of(best, op.id).filter(|width| *width < widest)?))
        };
        self.program.ops(1.0).into_iter().filter_map(|(op, _)| narrow(op)).collect()
    }
}

/// Returns the register tensor that an operation stores to global memory; `None` for another operation.
pub fn stored_tensor(op: &Op) -> Option<TensorId> {
    let OpKind::Copy { src, dst } = &op.kind else { return None };
    src.register().filter(|_| matches!(dst.base, Base::Global(_)))
}

fn width_of(solution: &Solution, op: OpId) -> Option<u32> {
    Some(solution.choices.get(&op)?.copy()?.bytes)
}

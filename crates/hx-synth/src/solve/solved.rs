//! The result of the solver: the program with all that the solver added, and the choices about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use hx_tile::{OpId, OpKind, Origin, Solution, TensorId, TileProgram};

use crate::edits::{Chunks, Edits, Move};

/// A solved program.
#[derive(Clone, PartialEq, Debug)]
pub struct Solved {
    /// The program with its rounds of copies, loads and moves as operations. Tensors and operations of the source keep their numbers.
    pub program: Arc<TileProgram>,
    /// A layout for every tensor of the program, and an instruction for every operation.
    pub solution: Solution,
    pub(crate) edits: Edits,
}

impl Solved {
    /// Returns a program with the same rounds, loads and moves. It has the operations of the source, perhaps in another order.
    pub fn edited(&self, source: &TileProgram) -> TileProgram {
        self.edits.apply(source).into_owned()
    }

    /// Returns the source with the rounds of copies and the loads, but without the moves.
    pub fn loaded(&self, source: &TileProgram) -> Arc<TileProgram> {
        if self.edits.moves.is_empty() && self.edits.exchanges.is_empty() {
            return Arc::clone(&self.program);
        }
        Arc::new(self.edits.loaded(source).into_owned())
    }

    /// Returns the copies between two memories that move in rounds, by their origin.
    pub fn rounds(&self) -> BTreeMap<Origin, &Chunks> {
        self.edits.cuts.iter().map(|cut| (cut.origin, &cut.chunks)).collect()
    }

    /// Returns the number of moves.
    pub fn moves(&self) -> usize {
        self.edits.moves.len()
    }

    /// Reports whether the other result contains all moves of this one.
    pub fn moves_within(&self, other: &Solved) -> bool {
        self.edits.moves.iter().all(|own| other.edits.moves.contains(own))
    }

    /// Returns, for an operation that moves an operand of another one before it, that other operation, and the operand as the
    /// source names it. The user can write such a move in the source.
    pub fn moved_before(&self, op: OpId) -> Option<(OpId, TensorId)> {
        let (at, tensor) = self.move_of(op)?;
        Some((at.at, tensor))
    }

    /// Reports whether an operation moves the source of a store because wider accesses take less time with the move.
    pub fn widens_a_store(&self, op: OpId) -> bool {
        self.move_of(op).is_some_and(|(own, _)| self.edits.widened.contains(&own.at))
    }

    /// Returns the source with the rounds and loads, and with the move of [`Solved::moved_before`] as an operation.
    pub fn with_move(&self, source: &TileProgram, op: OpId) -> Option<TileProgram> {
        let (own, _) = self.move_of(op)?;
        let edits = Edits { moves: vec![own], exchanges: Vec::new(), ..self.edits.clone() };
        Some(edits.apply(source).into_owned())
    }

    fn move_of(&self, op: OpId) -> Option<(Move, TensorId)> {
        let OpKind::Rearrange { dst, src, .. } = self.program.op(op)?.kind else { return None };
        if self.program.tensor(dst).moved_from != Some(src) {
            return None;
        }
        let at = |user: &hx_tile::Op| {
            let operand = user.kind.registers().iter().position(|tensor| *tensor == dst)?;
            let own = Move { at: user.id, operand, after: false };
            self.edits.moves.contains(&own).then_some((own, src))
        };
        self.program.ops(1.0).into_iter().find_map(|(user, _)| at(user))
    }
}

/// Returns the program in which an operation reads a tensor that is rearranged for it. `operand` is the position of the tensor in
/// [`OpKind::registers`].
pub fn rearranged(program: &TileProgram, at: OpId, operand: usize) -> TileProgram {
    let moves = vec![Move { at, operand, after: false }];
    Edits { moves, ..Edits::default() }.apply(program).into_owned()
}

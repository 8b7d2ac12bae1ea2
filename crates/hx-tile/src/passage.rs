//! Copies between two memories, whose tile passes through registers.

use hx_index::{Expr, Facts};

use crate::{Leaf, Op, OpId, OpKind, Stmt, TensorId, TileProgram, View};

/// A copy between two memories: three operations that follow each other, or two if the element types are the same. The source names
/// none of their register tensors, so a solver may copy the tile in rounds.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'p> {
    /// Loads the tile.
    pub load: &'p Op,
    /// Converts the elements.
    pub cast: Option<&'p Op>,
    /// Stores the tile.
    pub store: &'p Op,
    /// The tile in the memory that the copy reads.
    pub from: &'p View,
    /// The register tensor that holds the tile as it is loaded.
    pub tile: TensorId,
    /// The register tensor that holds the tile as it is stored: [`Passage::tile`], unless elements are converted.
    pub stored: TensorId,
    /// The tile in the memory that the copy writes.
    pub to: &'p View,
}

impl<'p> Passage<'p> {
    /// Returns the copy with which some statements of a program begin, if its tile is one of [`TileProgram::passing`].
    pub fn begins(program: &TileProgram, stmts: &'p [Stmt]) -> Option<Passage<'p>> {
        let op = |at: usize| stmts.get(at).and_then(Stmt::op);
        let load = op(0)?;
        let OpKind::Copy { src: from, dst } = &load.kind else { return None };
        let tile = dst.register().filter(|tile| program.passing.contains(tile))?;
        let next = op(1)?;
        let (cast, stored) = if let OpKind::Cast { dst, src } = next.kind
            && src == tile
        {
            (Some(next), dst)
        } else {
            (None, tile)
        };
        let store = if cast.is_some() { op(2)? } else { next };
        let OpKind::Copy { src, dst: to } = &store.kind else { return None };
        let is_stored = src.register() == Some(stored);
        is_stored.then_some(Passage { load, cast, store, from, tile, stored, to })
    }

    /// Returns the operations in their order.
    pub fn ops(&self) -> impl Iterator<Item = &'p Op> {
        [Some(self.load), self.cast, Some(self.store)].into_iter().flatten()
    }
}

impl TileProgram {
    /// Returns the operation of the source that an operation repeats for the last chunk of a copy; any other operation itself.
    pub fn source_op(&self, id: OpId) -> OpId {
        let mut repeated = self.rests.iter().flat_map(|rest| &rest.ops);
        repeated.find(|[own, _]| *own == id).map_or(id, |[_, of]| *of)
    }

    /// Returns a key by which operations are sorted as they are numbered, those of a last chunk behind the copy that they repeat.
    pub fn op_order(&self, id: OpId) -> [OpId; 2] {
        let rest = self.rests.iter().find(|rest| rest.ops.iter().any(|[own, _]| *own == id));
        [rest.and_then(|rest| rest.ops.iter().map(|[_, of]| *of).max()).unwrap_or(id), id]
    }

    /// As [`TileProgram::op_order`], for tensors.
    pub fn tensor_order(&self, id: TensorId) -> [TensorId; 2] {
        let rest = self.rests.iter().find(|rest| rest.tensors.iter().any(|[own, _]| *own == id));
        [rest.and_then(|rest| rest.tensors.iter().map(|[_, of]| *of).max()).unwrap_or(id), id]
    }
}

impl Stmt {
    /// Returns the operation that the statement is; `None` for another statement.
    pub fn op(&self) -> Option<&Op> {
        if let Stmt::Leaf(Leaf::Op(op)) = self { Some(op) } else { None }
    }
}

impl View {
    /// Returns the view of `count` steps of a mode, from the step `first` on.
    pub fn chunk(&self, mode: usize, first: &Expr, count: i64, facts: &Facts) -> View {
        let mut view = self.clone();
        let of = &mut view.modes[mode];
        let at = &mut view.offsets[of.dim];
        *at = (at.clone() + &of.factor * first).simplify(facts);
        of.extent = count;
        view
    }
}

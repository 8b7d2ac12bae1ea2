//! Lowers copies that blocks of a cluster share, and the release of a stage to all blocks that fill it.
//!
//! The blocks along an axis of the cluster have consecutive block indices, from a multiple of their number on. The rank of a
//! block counts all blocks of the cluster, those along the first axis fastest.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Expr, Symbol};
use hx_tile::{Choice, Op, OpKind, PipeId, Solution, TileProgram};

use super::{LowerError, Lowering};

/// Returns, for each pipeline, the axes of the cluster along which blocks share its copies.
pub(super) fn shared_axes(program: &TileProgram, solution: &Solution) -> BTreeMap<PipeId, BTreeSet<u8>> {
    let mut out: BTreeMap<PipeId, BTreeSet<u8>> = BTreeMap::new();
    for (op, _) in program.ops(1.0) {
        if let OpKind::CopyAsync { signal: Some(pipe), multicast: Some(axis), .. } = op.kind
            && let Some(Choice::Bulk(choice)) = solution.choices.get(&op.id)
            && choice.share.is_some()
        {
            out.entry(pipe).or_default().insert(axis);
        }
    }
    out
}

/// Returns the number of blocks that fill each stage of a block, if blocks along these axes share its copies.
pub(super) fn senders(program: &TileProgram, axes: &BTreeSet<u8>) -> u32 {
    1 + axes.iter().map(|axis| size(program, *axis) - 1).sum::<u32>()
}

fn size(program: &TileProgram, axis: u8) -> u32 {
    program.cluster.get(usize::from(axis)).copied().unwrap_or(1)
}

impl Lowering<'_> {
    /// Returns the coordinate of the executing block along an axis of its cluster.
    pub(super) fn place(&self, axis: u8) -> Expr {
        let size = Expr::constant(i64::from(size(self.program, axis)));
        Expr::symbol(Symbol::BlockIdx(axis)).rem(&size, &self.program.facts)
    }

    /// Returns the rank of the block with this coordinate along an axis, and the coordinates of the executing block along others.
    pub(super) fn rank(&self, axis: u8, at: &Expr) -> Expr {
        let mut step = 1;
        let mut rank = Expr::default();
        for (other, size) in (0u8..).zip(self.program.cluster) {
            let place = if other == axis { at.clone() } else { self.place(other) };
            rank = rank + place.scale(step);
            step *= i64::from(size);
        }
        rank
    }

    /// Returns the coordinate of the executing block among those that share a copy, and the ranks of all of these blocks.
    pub(super) fn sharers(&self, op: &Op) -> Result<(Expr, Vec<Expr>), LowerError> {
        let OpKind::CopyAsync { multicast: Some(axis), .. } = op.kind else {
            return Err(self.error(op, "blocks share a copy without an axis"));
        };
        let blocks = i64::from(self.program.blocks_of(op));
        let ranks = (0..blocks).map(|at| self.rank(axis, &Expr::constant(at)));
        Ok((self.place(axis), ranks.collect()))
    }

    /// Returns the ranks of all blocks that fill the stages of a pipeline of the executing block; empty if it fills them alone.
    pub(super) fn sending(&self, pipe: PipeId) -> Vec<Expr> {
        let mut out = Vec::new();
        for axis in self.pipes.axes.get(&pipe).into_iter().flatten() {
            let blocks = i64::from(size(self.program, *axis));
            // The executing block lies on every axis but must count once, so only the first axis includes it.
            if out.is_empty() {
                out.extend((0..blocks).map(|at| self.rank(*axis, &Expr::constant(at))));
                continue;
            }
            let (all, here) = (Expr::constant(blocks), self.place(*axis));
            let other = |by| (here.clone() + Expr::constant(by)).rem(&all, &self.program.facts);
            out.extend((1..blocks).map(|by| self.rank(*axis, &other(by))));
        }
        out
    }
}

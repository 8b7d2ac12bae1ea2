//! A second buffer in place of one that too many accesses share: the same writes go to both, and some of the reads to the second.

use std::collections::BTreeSet;

use hx_target::Arch;
use hx_tile::{Base, Op, OpId, OpKind, Solution, Stmt, Tensor, TensorId, TensorKind, TileProgram, View};

use crate::solve;

/// A program with a second buffer, which was solved.
#[derive(Clone, PartialEq, Debug)]
pub struct Second {
    /// What the first buffer is written by, and the second one as well.
    pub writes: Vec<OpId>,
    /// The reads that take the second one.
    pub reads: Vec<OpId>,
    /// Estimated cycles of a block.
    pub cost: f64,
}

/// Gives the narrowed reads of a shared tensor a buffer of their own, and solves the program; nothing where that is no cheaper than the
/// solution, or where an access is none that can be written a second time.
pub fn second_buffer(
    program: &TileProgram,
    solution: &Solution,
    tensor: TensorId,
    arch: Arch,
    cancelled: &dyn Fn() -> bool,
) -> Option<Second> {
    let info = program.tensor(tensor);
    if !matches!(info.kind, TensorKind::Shared { pinned: None }) {
        return None;
    }
    let narrowed: BTreeSet<OpId> = solution.shared.get(&tensor)?.narrowed.iter().copied().collect();
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for (op, _) in program.ops(1.0) {
        match access(op, tensor) {
            Some(Access::Read) if narrowed.contains(&op.id) => reads.push(op.id),
            Some(Access::Read) => {}
            Some(Access::Write) => writes.push(op.id),
            None if op.kind.tensors().contains(&tensor) => return None,
            None => {}
        }
    }
    if reads.is_empty() || writes.is_empty() {
        return None;
    }
    let mut changed = program.clone();
    let second = TensorId(changed.tensors.len() as u32);
    changed.tensors.push(Tensor { name: format!("{}_second", info.name), ..info.clone() });
    let mut next = program.ops(1.0).iter().map(|(op, _)| op.id.0 + 1).max().unwrap_or(0);
    change(&mut changed.body, &Change { tensor, second, reads: &reads }, &mut next);
    let cost = solve(&changed, arch, cancelled).ok()?.cost;
    (cost < solution.cost).then_some(Second { writes, reads, cost })
}

/// What an operation does with a shared tensor.
enum Access {
    Read,
    Write,
}

/// Nothing for an operation that does not touch the tensor, or does something else with it.
fn access(op: &Op, tensor: TensorId) -> Option<Access> {
    let is_it = |view: &View| view.base == Base::Shared(tensor) && view.rows.is_none();
    match &op.kind {
        OpKind::Copy { src, dst } if is_it(src) && dst.register().is_some() => Some(Access::Read),
        OpKind::Copy { dst, .. } | OpKind::CopyAsync { dst, .. } if is_it(dst) => Some(Access::Write),
        _ => None,
    }
}

struct Change<'a> {
    tensor: TensorId,
    second: TensorId,
    reads: &'a [OpId],
}

/// Repeats every write for the second buffer, and lets the reads take it.
fn change(body: &mut Vec<Stmt>, how: &Change<'_>, next: &mut u32) {
    let mut out = Vec::with_capacity(body.len());
    for mut stmt in body.drain(..) {
        let mut again = None;
        match &mut stmt {
            Stmt::Op(op) => again = changed(op, how, next),
            Stmt::For { body, .. } | Stmt::While { body, .. } => change(body, how, next),
            Stmt::If { then, otherwise, .. } => {
                change(then, how, next);
                change(otherwise, how, next);
            }
            _ => {}
        }
        out.push(stmt);
        out.extend(again.map(Stmt::Op));
    }
    *body = out;
}

/// Changes a read, or says how a write is repeated.
fn changed(op: &mut Op, how: &Change<'_>, next: &mut u32) -> Option<Op> {
    match access(op, how.tensor)? {
        Access::Read => {
            if let OpKind::Copy { src, .. } = &mut op.kind
                && how.reads.contains(&op.id)
            {
                src.base = Base::Shared(how.second);
            }
            None
        }
        Access::Write => {
            let mut again = op.clone();
            again.id = OpId(*next);
            *next += 1;
            if let OpKind::Copy { dst, .. } | OpKind::CopyAsync { dst, .. } = &mut again.kind {
                dst.base = Base::Shared(how.second);
            }
            Some(again)
        }
    }
}

//! Adds a second buffer beside a shared tensor with too many accesses: both receive the same writes, and some reads use the
//! second.

use std::collections::BTreeSet;

use hx_tile::{Base, Leaf, Op, OpId, OpKind, Stmt, Tensor, TensorId, TensorKind, TileProgram, View};

use crate::{Solved, solve};

/// A solved program with a second buffer.
#[derive(Clone, PartialEq, Debug)]
pub struct Second {
    /// The writes of the first buffer, which the second buffer receives as well.
    pub writes: Vec<OpId>,
    /// The reads that use the second buffer.
    pub reads: Vec<OpId>,
    /// Estimated cycles of a block.
    pub cost: f64,
}

/// Moves the narrowed reads of a shared tensor to a buffer of their own and solves the program. Returns `None` if the result is
/// not cheaper than `solved`, or if an access cannot be repeated: an atomic addition, for example.
pub fn second_buffer(
    source: &TileProgram,
    solved: &Solved,
    tensor: TensorId,
    cancelled: &dyn Fn() -> bool,
) -> Option<Second> {
    let (program, solution) = (&solved.loaded(source), &solved.solution);
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
    let mut changed = TileProgram::clone(program);
    let second = TensorId(changed.tensors.len() as u32);
    let name = format!("{}_second", info.name);
    changed.tensors.push(Tensor { name, binder: None, ..info.clone() });
    let mut next = program.ops(1.0).iter().map(|(op, _)| op.id.0 + 1).max().unwrap_or(0);
    change(&mut changed.body, &Change { tensor, second, reads: &reads }, &mut next);
    let cost = solve(&changed, cancelled).ok()?.solution.cost;
    (cost < solution.cost).then_some(Second { writes, reads, cost })
}

/// The direction in which an operation accesses a shared tensor.
enum Access {
    Read,
    Write,
}

/// Returns the direction of an operation's access to a tensor; `None` if the operation does not copy to or from the tensor in a way that
/// can be repeated.
fn access(op: &Op, tensor: TensorId) -> Option<Access> {
    let is_it = |view: &View| view.base == Base::Shared(tensor) && view.picked.is_none();
    let (OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. }) = &op.kind else { return None };
    if is_it(dst) {
        Some(Access::Write)
    } else {
        (is_it(src) && dst.register().is_some()).then_some(Access::Read)
    }
}

struct Change<'a> {
    tensor: TensorId,
    second: TensorId,
    reads: &'a [OpId],
}

/// Repeats every write of the tensor for the second buffer, and redirects the reads of `how` to it.
fn change(body: &mut Vec<Stmt>, how: &Change<'_>, next: &mut u32) {
    let mut out = Vec::with_capacity(body.len());
    for mut stmt in body.drain(..) {
        let mut again = None;
        match &mut stmt {
            Stmt::Leaf(Leaf::Op(op)) => again = changed(op, how, next),
            control => control.bodies_mut().for_each(|body| change(body, how, next)),
        }
        out.push(stmt);
        out.extend(again.map(|op| Stmt::Leaf(Leaf::Op(op))));
    }
    *body = out;
}

/// Redirects a read in place, or returns the repetition of a write for the second buffer. `None` if nothing is to be added.
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

//! The last step of lowering: drops unused tensors, and numbers operations and the loads that a solution may add without gaps.

use std::collections::{BTreeMap, BTreeSet};

use hx_dtype::AtomicOp;
use hx_tile::{Base, Op, OpId, OpKind, Picked, Stmt, Tensor, TensorId};

/// Drops unused results of atomic accesses and tensors that no operation uses, and renumbers tensors and operations in order.
/// Returns the tensors that remain.
pub(crate) fn finish(tensors: Vec<Tensor>, body: &mut [Stmt]) -> Vec<Tensor> {
    drop_unused_olds(body);
    let mut used = BTreeMap::new();
    visit(body, &mut |op| {
        each_tensor(&mut op.kind, &mut |id| {
            used.insert(*id, TensorId(0));
        });
    });
    for (new, slot) in used.values_mut().enumerate() {
        *slot = TensorId(new as u32);
    }
    let mut next = 0;
    let mut number = || {
        next += 1;
        OpId(next - 1)
    };
    visit(body, &mut |op| {
        // A load comes before its product, so it takes the smaller number.
        if let OpKind::Gemm { a, b, .. } = &mut op.kind {
            [a, b]
                .into_iter()
                .filter_map(|operand| operand.load.as_mut())
                .for_each(|load| load.op = number());
        }
        op.id = number();
        each_tensor(&mut op.kind, &mut |id| {
            if let Some(new) = used.get(id) {
                *id = *new;
            }
        });
    });
    let kept = tensors.into_iter().enumerate().filter(|(i, _)| used.contains_key(&TensorId(*i as u32)));
    kept.map(|(_, tensor)| tensor).collect()
}

/// Removes the result of atomic accesses whose old elements nobody uses. Exchanges keep it, and so do accesses that acquire,
/// because instructions that return nothing do not acquire.
fn drop_unused_olds(body: &mut [Stmt]) {
    let mut used = BTreeSet::new();
    visit(body, &mut |op| {
        let kept = if let OpKind::Atomic(atomic) = &mut op.kind { atomic.old.take() } else { None };
        each_tensor(&mut op.kind, &mut |id| {
            used.insert(*id);
        });
        if let OpKind::Atomic(atomic) = &mut op.kind {
            atomic.old = kept;
        }
    });
    visit(body, &mut |op| {
        let OpKind::Atomic(atomic) = &mut op.kind else { return };
        let returns = matches!(atomic.op, AtomicOp::Exchange | AtomicOp::CompareExchange);
        if !returns && !atomic.order.acquires() && atomic.old.is_some_and(|old| !used.contains(&old)) {
            atomic.old = None;
        }
    });
}

fn visit(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Op)) {
    for stmt in stmts {
        match stmt {
            Stmt::Op(op) => f(op),
            Stmt::For { body, .. } | Stmt::While { body, .. } => visit(body, f),
            Stmt::If { then, otherwise, .. } => {
                visit(then, f);
                visit(otherwise, f);
            }
            Stmt::Roles(roles) => roles.iter_mut().for_each(|role| visit(&mut role.body, f)),
            Stmt::Let { .. }
            | Stmt::Assign { .. }
            | Stmt::LoadScalar { .. }
            | Stmt::LetNumber { .. }
            | Stmt::AssignNumber { .. } => {}
        }
    }
}

fn each_tensor(kind: &mut OpKind, f: &mut dyn FnMut(&mut TensorId)) {
    match kind {
        OpKind::Fill { dst, .. } => f(dst),
        OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. } | OpKind::Store { src, dst, .. } => {
            [src, dst].into_iter().for_each(|view| each_base(view, f));
        }
        OpKind::Slice { dst, src } => {
            f(dst);
            each_base(src, f);
        }
        OpKind::Insert { dst, src } => {
            each_base(dst, f);
            f(src);
        }
        OpKind::ReadNumber { src, .. } => f(src),
        OpKind::Scan { dst, src, .. } => dst.iter_mut().chain(src).for_each(f),
        OpKind::Atomic(atomic) => {
            f(&mut atomic.value);
            atomic.compare.iter_mut().chain(&mut atomic.old).for_each(&mut *f);
            each_base(&mut atomic.memory, f);
        }
        OpKind::Gemm { c, a, b, .. } => {
            f(c);
            for operand in [a, b] {
                each_base(&mut operand.view, f);
                operand.load.iter_mut().for_each(|load| f(&mut load.tensor));
            }
        }
        OpKind::Cast { dst, src } | OpKind::Rearrange { dst, src, .. } | OpKind::Reduce { dst, src, .. } => {
            [dst, src].into_iter().for_each(f)
        }
        OpKind::Map(map) => std::iter::once(&mut map.dst).chain(&mut map.inputs).for_each(f),
        OpKind::Print { src, .. } => src.iter_mut().for_each(f),
        OpKind::ClusterSum { x, parts, .. } => std::iter::once(x).chain(parts).for_each(f),
        OpKind::Assert { cond, sides, .. } => std::iter::once(cond).chain(sides).for_each(f),
        OpKind::Sync(_) => {}
    }
}

fn each_base(view: &mut hx_tile::View, f: &mut dyn FnMut(&mut TensorId)) {
    let (table, picks) = match &mut view.picked {
        Some(Picked::Rows(rows)) => (Some(&mut rows.base), &mut [][..]),
        Some(Picked::Elements(picks)) => (None, &mut picks[..]),
        None => (None, &mut [][..]),
    };
    picks.iter_mut().for_each(|pick| f(&mut pick.index));
    for base in std::iter::once(&mut view.base).chain(table) {
        if let Base::Shared(id) | Base::Register(id) = base {
            f(id);
        }
    }
}

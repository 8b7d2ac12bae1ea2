//! The last step of lowering: drops unused tensors, and numbers operations and the loads that a solution may add without gaps.

use std::collections::{BTreeMap, BTreeSet};

use hx_dtype::AtomicOp;
use hx_tile::{InstructionPin, Leaf, Op, OpId, OpKind, Stmt, Tensor, TensorId};

/// Drops unused results of atomic accesses and tensors that no operation uses, and renumbers tensors and operations in order.
/// Returns the tensors that remain, and those of `passing` and the operations of `pins` by their new numbers.
pub(crate) fn finish(
    tensors: Vec<Tensor>,
    passing: BTreeSet<TensorId>,
    pins: &BTreeMap<OpId, InstructionPin>,
    body: &mut [Stmt],
) -> (Vec<Tensor>, BTreeSet<TensorId>, BTreeMap<OpId, InstructionPin>) {
    drop_unused_olds(body);
    let mut used = BTreeMap::new();
    visit(body, &mut |op| {
        op.kind.each_tensor(&mut |id| {
            used.insert(*id, TensorId(0));
        });
    });
    for (new, slot) in used.values_mut().enumerate() {
        *slot = TensorId(new as u32);
    }
    let mut kept_pins = BTreeMap::new();
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
        let new = number();
        if let Some(pin) = pins.get(&op.id) {
            kept_pins.insert(new, pin.clone());
        }
        op.id = new;
        op.kind.each_tensor(&mut |id| {
            if let Some(new) = used.get(id) {
                *id = *new;
            }
        });
    });
    let kept = tensors.into_iter().enumerate().filter(|(i, _)| used.contains_key(&TensorId(*i as u32)));
    let passing = passing.iter().filter_map(|tile| used.get(tile).copied()).collect();
    (kept.map(|(_, tensor)| tensor).collect(), passing, kept_pins)
}

/// Removes the result of atomic accesses whose old elements nobody uses. Exchanges keep it, and so do accesses that acquire,
/// because instructions that return nothing do not acquire.
fn drop_unused_olds(body: &mut [Stmt]) {
    let mut used = BTreeSet::new();
    visit(body, &mut |op| {
        let kept = if let OpKind::Atomic(atomic) = &mut op.kind { atomic.old.take() } else { None };
        op.kind.each_tensor(&mut |id| {
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

/// Calls `f` for each operation, in the order of the program.
pub(crate) fn visit(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Op)) {
    for stmt in stmts {
        match stmt {
            Stmt::Leaf(Leaf::Op(op)) => f(op),
            control => control.bodies_mut().for_each(|body| visit(body, f)),
        }
    }
}

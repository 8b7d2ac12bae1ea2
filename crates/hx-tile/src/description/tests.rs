//! Tests of the descriptions of operations.

use hx_dtype::AtomicOp;
use hx_index::Expr;

use super::*;
use crate::{Atomic, Constant, MemoryOrder, MemoryScope, Operand, ParamId, Pick, Picked, PipeId, SyncOp};

/// Formats accesses as in `write r0, read s1 [group]`. An operation that orders has no accesses: formats its order.
fn shown(kind: &OpKind) -> String {
    let base = |base| match base {
        Base::Global(param) => format!("g{}", param.0),
        Base::Shared(tensor) => format!("s{}", tensor.0),
        Base::Register(tensor) => format!("r{}", tensor.0),
    };
    let effects = kind.description();
    let access = |access: &Access<'_>| {
        let pending = match access.completion {
            Completion::AtOnce => "",
            Completion::Group => " [group]",
            Completion::Product => " [product]",
            Completion::Barrier => " [barrier]",
            Completion::Store => " [store]",
            Completion::StoreRead => " [store read]",
        };
        let bulk =
            matches!(access.completion, Completion::Barrier | Completion::Store | Completion::StoreRead);
        let described = access.proxy == Proxy::Asynchronous && !bulk;
        let proxy = if described { " by descriptor" } else { "" };
        let table = if matches!(access.region, Region::Table(_)) { "table " } else { "" };
        format!("{:?} {table}{}{proxy}{pending}", access.mode, base(access.base())).to_lowercase()
    };
    let accesses: Vec<String> = effects.accesses.iter().map(access).collect();
    match effects.order {
        Order::Nothing => accesses.join(", "),
        order => format!("{order:?}"),
    }
}

#[test]
fn accesses_are_listed_with_tables_and_buffers_of_exchanges() {
    let [r0, r1, r2, s3] = [0, 1, 2, 3].map(TensorId);
    let register = |tensor| View::whole(Base::Register(tensor), &[4]);
    let shared = View::whole(Base::Shared(s3), &[4]);
    let operand = |tensor| Operand::register(tensor, &[4]);
    let staged = Operand { view: shared.clone(), load: None };
    let mut gathered = View::whole(Base::Global(ParamId(0)), &[4]);
    gathered.picked = Some(Picked::Rows(Rows {
        dim: 0,
        base: Base::Shared(s3),
        offsets: vec![Expr::default()],
        along: 0,
        factor: Expr::constant(1),
        extent: Expr::constant(4),
        ends: Vec::new(),
    }));
    let whole = View::whole(Base::Global(ParamId(0)), &[4]);
    let pick = Pick { dim: 0, index: r1, factor: Expr::constant(1), extent: Expr::constant(4) };
    let scattered = View { picked: Some(Picked::Elements(vec![pick])), ..whole.clone() };
    let adds = Atomic {
        op: AtomicOp::Add,
        value: r0,
        compare: None,
        old: None,
        memory: whole,
        order: MemoryOrder::Relaxed,
        scope: MemoryScope::Gpu,
    };
    let cases = [
        (OpKind::Fill { dst: r0, value: Constant::ZERO }, "write r0"),
        (OpKind::Copy { src: gathered.clone(), dst: register(r0) }, "write r0, read g0, read table s3"),
        (OpKind::Copy { src: register(r0), dst: shared.clone() }, "write s3, read r0"),
        (
            OpKind::CopyAsync { src: gathered, dst: shared.clone(), signal: None, multicast: None },
            "write s3 [group], read g0 [group], read table s3",
        ),
        (
            OpKind::CopyAsync {
                src: View::whole(Base::Global(ParamId(0)), &[4]),
                dst: shared.clone(),
                signal: Some(PipeId(0)),
                multicast: None,
            },
            "write s3 [barrier], read g0 [barrier]",
        ),
        (
            OpKind::Store { src: shared, dst: View::whole(Base::Global(ParamId(0)), &[4]), adds: false },
            "write g0 [store], read s3 [store read]",
        ),
        (
            OpKind::Gemm { c: r0, a: operand(r1), b: operand(r2), warps: None, asynchronous: false },
            "update r0, read r1, read r2",
        ),
        (
            OpKind::Gemm { c: r0, a: staged.clone(), b: operand(r2), warps: None, asynchronous: false },
            "update r0, read r2, read s3 by descriptor",
        ),
        (
            OpKind::Gemm { c: r0, a: operand(r1), b: staged.clone(), warps: None, asynchronous: true },
            "update r0 [product], read r1 [product], read s3 by descriptor [product]",
        ),
        (OpKind::Sync(SyncOp::GemmWait { leave: 1 }), "WaitProducts(1)"),
        (OpKind::Rearrange { dst: r0, src: r1, through: None }, "write r0, read r1"),
        (OpKind::Rearrange { dst: r0, src: r1, through: Some(s3) }, "write r0, read r1, write s3, read s3"),
        (OpKind::Slice { dst: r0, src: register(r1) }, "write r0, read r1"),
        (OpKind::Insert { dst: register(r0), src: r1 }, "update r0, read r1"),
        (OpKind::Atomic(adds.clone()), "read r0, add g0"),
        (
            OpKind::Atomic(Atomic { old: Some(r2), memory: scattered.clone(), ..adds }),
            "write r2, read r0, read r1, add g0",
        ),
        (OpKind::Copy { src: register(r0), dst: scattered }, "write g0, read r0, read r1"),
        (OpKind::ClusterSum { x: r0, parts: vec![], axis: 0, to: None }, "update r0"),
        (OpKind::ClusterSum { x: r0, parts: vec![r1, r2], axis: 0, to: None }, "write r0, read r1, read r2"),
        (OpKind::Sync(SyncOp::Scope), "Scope"),
        (OpKind::Sync(SyncOp::Wait { groups: 2 }), "Wait(2)"),
        (
            OpKind::Sync(SyncOp::WaitStage { pipe: PipeId(0), var: hx_index::Symbol::Var("s".into(), 0) }),
            "Await",
        ),
        (OpKind::Sync(SyncOp::Release { pipe: PipeId(0), keep: 1 }), "Arrive"),
        (OpKind::Sync(SyncOp::WaitStores { leave: 1, read: true }), "WaitStores { leave: 1, read: true }"),
    ];
    for (kind, wanted) in cases {
        assert_eq!(shown(&kind), wanted, "{}", kind.name());
    }
}

#[test]
fn results_stand_before_sources_and_accumulators_are_both() {
    let [c, a, b] = [0, 1, 2].map(TensorId);
    let operand = |tensor| Operand::register(tensor, &[4]);
    let gemm = OpKind::Gemm { c, a: operand(a), b: operand(b), warps: None, asynchronous: false };
    assert_eq!((gemm.registers(), gemm.results()), (vec![c, a, b], 1));
    assert!(gemm.updates(0) && !gemm.updates(1) && gemm.writes(c) && !gemm.writes(a));
    let scan = OpKind::Scan { dst: vec![c, a], src: vec![b, b], axis: 0, op: Vec::new(), reverse: false };
    assert_eq!((scan.registers(), scan.results()), (vec![c, a, b, b], 2));
    assert!(!scan.updates(0));
}

#[test]
fn an_operand_in_shared_memory_is_no_register_to_replace() {
    let [c, b, s, new] = [0, 1, 2, 3].map(TensorId);
    let staged = Operand { view: View::whole(Base::Shared(s), &[4]), load: None };
    let held = Operand::register(b, &[4]);
    let mut gemm = OpKind::Gemm { c, a: staged, b: held, warps: None, asynchronous: false };
    assert_eq!(gemm.tensors(), [c, b, s].into());
    gemm.replace(1, new);
    assert_eq!((gemm.registers(), gemm.tensors()), (vec![c, new], [c, s, new].into()));
}

#[test]
fn operands_to_change_are_those_of_the_description() {
    let [r0, r1, r2, s3, r4] = [0, 1, 2, 3, 4].map(TensorId);
    let register = |tensor| View::whole(Base::Register(tensor), &[4]);
    let pick = Pick { dim: 0, index: r1, factor: Expr::constant(1), extent: Expr::constant(4) };
    let whole = View::whole(Base::Global(ParamId(0)), &[4]);
    let scattered = View { picked: Some(Picked::Elements(vec![pick])), ..whole.clone() };
    let atomic = |op, compare, old| {
        let (order, scope) = (MemoryOrder::Relaxed, MemoryScope::Gpu);
        OpKind::Atomic(Atomic { op, value: r0, compare, old, memory: scattered.clone(), order, scope })
    };
    let operand = |tensor| Operand::register(tensor, &[4]);
    let kinds = [
        OpKind::Copy { src: register(r0), dst: scattered.clone() },
        OpKind::Copy { src: scattered.clone(), dst: register(r0) },
        OpKind::Gemm { c: r0, a: operand(r1), b: operand(r2), warps: None, asynchronous: false },
        OpKind::Rearrange { dst: r0, src: r1, through: Some(s3) },
        OpKind::Slice { dst: r0, src: register(r1) },
        OpKind::Insert { dst: register(r0), src: r1 },
        OpKind::Scan { dst: vec![r0, r1], src: vec![r2, r4], axis: 0, op: Vec::new(), reverse: false },
        atomic(AtomicOp::Load, None, None),
        atomic(AtomicOp::CompareExchange, Some(r2), Some(r4)),
        OpKind::ClusterSum { x: r0, parts: vec![r1, r2], axis: 0, to: None },
        OpKind::Assert { cond: r0, sides: vec![r1, r2], message: String::new(), uniform: false },
    ];
    for kind in kinds {
        let registers = kind.registers();
        for (operand, old) in registers.iter().enumerate() {
            let (new, mut changed) = (TensorId(9), kind.clone());
            changed.replace(operand, new);
            let mut wanted = registers.clone();
            wanted[operand] = new;
            assert_eq!(changed.registers(), wanted, "{} without {old:?}", kind.name());
        }
        let (mut seen, mut changed) = (BTreeSet::new(), kind.clone());
        changed.each_tensor(&mut |tensor| _ = seen.insert(*tensor));
        assert_eq!(seen, kind.tensors(), "{}", kind.name());
    }
}

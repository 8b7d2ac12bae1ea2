//! Protocols of tile programs with roles, pipelines, turns, products and stores.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::{Expr, Facts, Symbol};
use hx_tile::{
    Base, Control, GridAxis, Leaf, Op, OpId, OpKind, Operand, Origin, ParamId, Pipe, PipeId, Role, RoleKind,
    Rounds, Scope, ScopeId, ScopeKind, Stmt, SyncOp, Tensor, TensorId, TensorKind, TileProgram, Turns,
    TurnsId, View,
};

use super::super::{Kind, verdict};

const SA: TensorId = TensorId(0);
const SB: TensorId = TensorId(1);
const SC: TensorId = TensorId(2);
const ACC: TensorId = TensorId(3);
const PIPE: PipeId = PipeId(0);

/// A shared tensor of `stages` tiles, or a tile in registers.
fn tensor(name: &str, stages: Option<i64>, scope: ScopeId) -> Tensor {
    let kind = match stages {
        Some(_) => TensorKind::Shared { pinned: None },
        None => TensorKind::Register { pinned: None },
    };
    let shape = [64, 64].into_iter().chain(stages).collect();
    Tensor {
        name: name.into(),
        dtype: DType::Bf16,
        shape,
        kind,
        scope,
        origin: Origin(0),
        binder: None,
        moved_from: None,
    }
}

fn stage(tensor: TensorId, at: Expr) -> View {
    let mut view = View::whole(Base::Shared(tensor), &[64, 64, 1]);
    view.offsets[2] = at;
    view
}

fn var(name: &str) -> Symbol {
    Symbol::Var(name.into(), 0)
}

fn repeat(counter: &str, end: Expr, body: Vec<Stmt>) -> Stmt {
    Stmt::Control(Control::For { var: var(counter), rounds: Rounds::range(Expr::constant(0), end), body })
}

/// Makes operations of one scope; their numbers are set at the end.
fn ops(scope: u32, kinds: impl IntoIterator<Item = OpKind>) -> Vec<Stmt> {
    let op = |kind| Stmt::Leaf(Leaf::Op(Op { id: OpId(0), kind, scope: ScopeId(scope), origin: Origin(0) }));
    kinds.into_iter().map(op).collect()
}

fn number(body: &mut Vec<Stmt>, next: &mut u32) {
    for stmt in body {
        if let Stmt::Leaf(Leaf::Op(op)) = stmt {
            op.id = OpId(*next);
            *next += 1;
        }
        stmt.bodies_mut().for_each(|body| number(body, next));
    }
}

/// A persistent product: a role that fills a ring of 4 stages, and two groups that share each tile or own it.
fn product(each: bool, keep: impl Fn(&OpKind) -> bool) -> TileProgram {
    let (rounds, steps) = (Expr::dim("rounds"), Expr::dim("steps"));
    let at = || Expr::symbol(var("stage"));
    let copy = |dst: TensorId| OpKind::CopyAsync {
        src: View::whole(Base::Global(ParamId(0)), &[64, 64]),
        dst: stage(dst, at()),
        signal: Some(PIPE),
        multicast: None,
    };
    let fill = [OpKind::Sync(SyncOp::Acquire { pipe: PIPE, var: var("stage") }), copy(SA), copy(SB)];
    let operand = |tensor| Operand { view: stage(tensor, at()), load: None };
    let multiply = [
        OpKind::Sync(SyncOp::WaitStage { pipe: PIPE, var: var("stage") }),
        OpKind::Gemm { c: ACC, a: operand(SA), b: operand(SB), warps: None, asynchronous: true },
        OpKind::Sync(SyncOp::GemmWait { leave: 1 }),
        OpKind::Sync(SyncOp::Release { pipe: PIPE, keep: 1 }),
    ];
    let store = [
        OpKind::Sync(SyncOp::GemmWait { leave: 0 }),
        OpKind::Sync(SyncOp::Release { pipe: PIPE, keep: 0 }),
        OpKind::Sync(SyncOp::WaitStores { leave: 0, read: true }),
        OpKind::Sync(SyncOp::Scope),
        OpKind::Copy { src: View::whole(Base::Register(ACC), &[64, 64]), dst: stage(SC, Expr::constant(0)) },
        OpKind::Sync(SyncOp::Scope),
        OpKind::Store {
            src: stage(SC, Expr::constant(0)),
            dst: View::whole(Base::Global(ParamId(0)), &[64, 64]),
            adds: false,
        },
    ];
    let turn = TurnsId(0);
    let multiply = repeat("k", steps.clone(), ops(2, multiply));
    let mut tile = Vec::new();
    if each {
        tile.extend(ops(2, [OpKind::Sync(SyncOp::Take { turns: turn })]));
    }
    tile.push(multiply);
    if each {
        tile.extend(ops(2, [OpKind::Sync(SyncOp::Pass { turns: turn })]));
    }
    tile.extend(ops(2, store));
    if each {
        tile.extend(ops(2, [OpKind::Sync(SyncOp::Skip { pipe: PIPE, count: steps.clone() })]));
    }
    let group = Expr::symbol(var("g"));
    let mine = (rounds.clone() - group.clone()).ceil_div(&Expr::constant(2), &Facts::default());
    let mut consumer = Vec::new();
    if each {
        consumer.extend(ops(2, [OpKind::Sync(SyncOp::Skip { pipe: PIPE, count: &group * &steps })]));
    }
    consumer.push(repeat("w", if each { mine } else { rounds.clone() }, tile));
    let role =
        |scope: u32, kind, index, body| Role { scope: ScopeId(scope), kind, registers: None, index, body };
    let producer = vec![repeat("w", rounds, vec![repeat("k", steps, ops(1, fill))])];
    let scope = |kind, first, threads, groups| Scope { kind, first, threads, groups };
    let consumers = match each {
        true => scope(ScopeKind::Group, 128, 128, 2),
        false => scope(ScopeKind::Role, 128, 256, 1),
    };
    let mut program = TileProgram {
        grid: vec![GridAxis { blocks: Expr::constant(1) }],
        scopes: vec![Scope::block(384), scope(ScopeKind::Role, 0, 128, 1), consumers],
        tensors: vec![
            tensor("sa", Some(4), ScopeId::BLOCK),
            tensor("sb", Some(4), ScopeId::BLOCK),
            tensor("sc", Some(1), ScopeId(2)),
            tensor("acc", None, ScopeId(2)),
        ],
        pipes: vec![Pipe {
            name: "pipe".into(),
            stages: 4,
            readers: each.then_some(1),
            is_drained: false,
            origin: Origin(0),
        }],
        turns: vec![Turns { name: "turn".into(), scope: ScopeId(2), origin: Origin(0) }],
        body: vec![Stmt::Control(Control::Roles(vec![
            role(1, RoleKind::Producer, None, producer),
            role(2, RoleKind::Consumer, each.then(|| var("g")), consumer),
        ]))],
        ..TileProgram::default()
    };
    number(&mut program.body, &mut 0);
    retain(&mut program.body, &keep);
    program
}

fn retain(body: &mut Vec<Stmt>, keep: &dyn Fn(&OpKind) -> bool) {
    body.retain(|stmt| !matches!(stmt, Stmt::Leaf(Leaf::Op(op)) if !keep(&op.kind)));
    body.iter_mut().flat_map(Stmt::bodies_mut).for_each(|body| retain(body, keep));
}

fn check(program: &TileProgram, want: Expect) {
    let name = |op: OpId| program.op(op).map_or("?", |op| op.kind.name());
    let one = |kind: &Kind| match kind {
        Kind::Stuck(blocked) => {
            let blocked: Vec<String> =
                blocked.iter().map(|blocked| format!("{} at {}", blocked.who, name(blocked.op))).collect();
            format!("stuck: {}\n", blocked.join(", "))
        }
        Kind::Slip { wait, .. } => format!("slip: {}\n", name(*wait)),
        Kind::Crowded { release, .. } => format!("crowded: {}\n", name(*release)),
        Kind::Doubled { acquire, .. } => format!("doubled: {}\n", name(*acquire)),
        Kind::Repassed { pass, .. } => format!("passed twice: {}\n", name(*pass)),
        Kind::Race { tensor, earlier, later, cause, .. } => {
            let tensor = &program.tensor(*tensor).name;
            format!("race on {tensor}: {} and {}, {cause:?}\n", name(earlier.op), name(later.op))
        }
        Kind::InFlight { tensor, later, .. } => {
            format!("in flight: {} at {}\n", program.tensor(*tensor).name, name(*later))
        }
        Kind::Unequal { acquire, .. } => format!("unequal: {}\n", name(*acquire)),
        Kind::Unwaited { copy, .. } => format!("unwaited: {}\n", name(*copy)),
        Kind::Hurried { come: op, .. } | Kind::Unmet { arrive: op, .. } => {
            format!("barrier: {}\n", name(*op))
        }
        Kind::Unstored { access, .. } => format!("not stored: {}\n", name(*access)),
        Kind::Divided { copy } | Kind::Gone { copy } => format!("cluster: {}\n", name(*copy)),
    };
    want.assert_eq(&verdict(program, &|| ()).faults.iter().map(|fault| one(&fault.kind)).collect::<String>());
}

#[test]
fn roles_of_a_tile_program_are_right() {
    check(&product(false, |_| true), expect![""]);
    check(&product(true, |_| true), expect![""]);
}

#[test]
fn what_a_tile_program_leaves_out_is_found() {
    let without = |each, left_out: &'static str| product(each, move |kind| kind.name() != left_out);
    check(
        &without(false, "release_previous"),
        expect![[r#"
        stuck: `producer` at acquire, group 0 of `consumer` at wait
    "#]],
    );
    check(
        &without(false, "gemm_wait"),
        expect![[r#"
        in flight: sa at release
        in flight: sa at release_previous
    "#]],
    );
    check(
        &without(false, "wait_stores"),
        expect![[r#"
        race on sc: copy_async and copy, Store
    "#]],
    );
    check(
        &without(false, "sync"),
        expect![[r#"
        race on sc: copy and copy_async, NoBarrier
    "#]],
    );
    check(
        &without(true, "take"),
        expect![[r#"
        passed twice: pass
        slip: wait
    "#]],
    );
    check(
        &without(true, "pass"),
        expect![[r#"
        stuck: group 1 of `consumer` at take, group 0 of `consumer` at take
    "#]],
    );
    check(
        &without(true, "skip"),
        expect![[r#"
            crowded: release_previous
        "#]],
    );
    check(
        &without(false, "wait"),
        expect![[r#"
            unwaited: copy_async
            race on sa: copy_async and copy_async, BeforeRelease
            race on sb: copy_async and copy_async, BeforeRelease
        "#]],
    );
}

/// Without the local the roles would not be followed, and nothing would be found.
#[test]
fn roles_know_the_locals_of_the_block() {
    let mut program = product(false, |kind| kind.name() != "wait_stores");
    let tiles = var("tiles");
    let Some(Stmt::Control(Control::Roles(roles))) = program.body.last_mut() else { panic!("no roles") };
    for role in roles {
        let Some(Stmt::Control(Control::For { rounds: Rounds::Range { end, .. }, .. })) =
            role.body.first_mut()
        else {
            panic!("no loop over tiles")
        };
        *end = Expr::symbol(tiles.clone());
    }
    program.body.insert(0, Stmt::Leaf(Leaf::Let { var: tiles, value: Expr::dim("rounds") }));
    check(
        &program,
        expect![[r#"
        race on sc: copy_async and copy, Store
    "#]],
    );
}

//! The text of loops over counters.

use expect_test::expect_file;
use hx_dtype::DType;
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_thread::{
    Barrier, BarrierKind, Body, Control, Counter, Draw, Drawn, Group, Lanes, Leaf, Memory, RegisterArray,
    Role, Stmt, ThreadProgram,
};
use hx_tile::{OpId, Origin, Scope, ScopeId, ScopeKind};

use crate::build::*;
use crate::text;

/// The locals of a loop: the ticket that it reads next, and the parity of the phase in which the ticket is full.
fn locals() -> [Symbol; 2] {
    [var("ticket", 0), var("parity", 1)]
}

fn draw(index: Expr, parity: Expr) -> Stmt {
    let group = Expr::symbol(var("g", 2));
    let draw = Stmt::Leaf(Leaf::Draw(Draw { counter: 0, index, parity }));
    Stmt::Control(Control::If {
        cond: Cond::Cmp(CmpOp::Eq, group, c(0)),
        then: vec![draw],
        otherwise: Vec::new(),
    })
}

/// A loop that writes each of its numbers to 64 places of `y`.
fn looped(scope: ScopeId, draws: bool) -> Body {
    let [index, parity] = locals().map(Expr::symbol);
    let start = |var| Stmt::Leaf(Leaf::Let { var, value: c(0) });
    let mut out: Body = locals().map(start).into();
    let next = |var: Symbol, value| Stmt::Leaf(Leaf::Assign { var, value });
    let [to_index, to_parity] = locals();
    let mut body = vec![
        next(to_parity, (parity.clone() + index.clone()).rem(&c(2), &Facts::default())),
        next(to_index, c(1) - index.clone()),
    ];
    if draws {
        out.push(draw(c(0), c(1)));
        body.push(draw(index.clone(), c(1) - parity.clone()));
    }
    let t = var("t", 3);
    let place = Expr::symbol(t.clone()).scale(64) + thread();
    let registers = regs(scope.0 - 1, c(0), [0]);
    let write = guarded(store(4, registers.clone(), Memory::Global(0), place), lt(thread(), c(64)), 0);
    let body_of = vec![fill(registers, 1), write];
    let (op, title) = (OpId(scope.0), "copy(one, y)".to_owned());
    body.push(Stmt::Control(Control::Group(Group { op, scope, origin: Origin(0), title, body: body_of })));
    out.push(Stmt::Control(Control::Drawn(Drawn {
        var: t,
        counter: 0,
        index,
        parity,
        origin: Origin(1),
        body,
    })));
    out
}

/// Two groups and a role loop over the numbers that group 0 draws.
fn drawn() -> ThreadProgram {
    let role = |scope: u32, index, draws| Role {
        scope: ScopeId(scope),
        registers: None,
        index,
        lanes: Lanes::All,
        body: looped(ScopeId(scope), draws),
    };
    let array = |scope: u32| RegisterArray { scope: ScopeId(scope), ..array("one", DType::I32, 1) };
    let program = kernel(
        "drawn",
        vec![
            tensor("y", DType::I32, true, &[dim("m")], &[c(1)]),
            tensor("c", DType::I32, true, &[c(1)], &[c(1)]),
        ],
        &["m"],
        vec![c(8), c(4)],
        vec![array(1), array(2)],
        vec![Stmt::Control(Control::Roles(vec![role(1, Some(var("g", 2)), true), role(2, None, false)]))],
    );
    let barrier = |kind, count, at| Barrier {
        kind,
        pipe: "work".into(),
        stages: 2,
        count,
        at,
        origin: Origin(0),
        sums: false,
    };
    ThreadProgram {
        scopes: vec![
            Scope::block(384),
            Scope { kind: ScopeKind::Group, first: 0, threads: 128, groups: 2 },
            Scope { kind: ScopeKind::Role, first: 256, threads: 128, groups: 1 },
        ],
        shared_bytes: 40,
        barriers: vec![barrier(BarrierKind::Full, 1, 0), barrier(BarrierKind::Empty, 12, 16)],
        counters: vec![Counter {
            name: "work".into(),
            param: 1,
            limit: div(&dim("m"), 64),
            at: 32,
            full: 0,
            empty: 1,
            origin: Origin(0),
        }],
        ranges: locals().into_iter().map(|local| (local, (0, 1))).collect(),
        ..program
    }
}

#[test]
fn numbers_are_drawn_and_read() {
    let golden = format!("{}/tests/golden_sm_90a/drawn.cu", env!("CARGO_MANIFEST_DIR"));
    expect_file![golden].assert_eq(&text(&drawn()));
}

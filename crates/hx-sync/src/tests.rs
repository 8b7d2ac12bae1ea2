//! Tests conditions that differ between threads, and accesses in which several threads take part.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_thread::{
    Address, Control, Group, Leaf, Memory, RegId, RegisterArray, Registers, SharedBuffer, Stmt,
    ThreadProgram, Transfer,
};
use hx_tile::{OpId, Origin, Scope, ScopeId};

use crate::check::{Rules, check};
use crate::trace::{Traced, traces};

fn c(value: i64) -> Expr {
    Expr::constant(value)
}

fn thread() -> Expr {
    Expr::symbol(Symbol::Thread)
}

/// The number of a thread within its warp.
fn lane() -> Expr {
    thread().rem(&c(32), &Facts::default())
}

/// The condition that holds in the first warp.
fn first_warp() -> Cond {
    Cond::Cmp(CmpOp::Lt, thread(), c(32))
}

fn choose(then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
    Stmt::Control(Control::If { cond: first_warp(), then, otherwise })
}

fn transfer(row: &str, offset: Expr) -> Stmt {
    let registers = Registers { array: RegId(0), base: c(0), offsets: vec![0] };
    let address = Address { memory: Memory::Shared(0), offset };
    Stmt::Leaf(Leaf::Transfer(Transfer {
        row: hx_target::row(row),
        registers,
        address,
        guard: Cond::True,
        pad: 0,
        atomic: None,
        cache: hx_target::Cache::default(),
    }))
}

fn write(offset: Expr) -> Stmt {
    transfer("st.shared.b32", offset)
}

fn read(offset: Expr) -> Stmt {
    transfer("ld.shared.b32", offset)
}

/// Checks a program of two warps with a shared tensor of 64 words. Its operations are numbered in program order.
fn check_program(body: Vec<Stmt>, want: Expect) {
    let mut ops = 0;
    let program = ThreadProgram {
        name: "test".into(),
        grid: vec![c(1)],
        scopes: vec![Scope::block(64)],
        shared: vec![SharedBuffer { name: "s".into(), dtype: DType::I32, offset: 0, bytes: 256 }],
        shared_bytes: 256,
        registers: vec![RegisterArray {
            name: "r".into(),
            dtype: DType::I32,
            len: 1,
            scope: ScopeId::BLOCK,
            tensor: None,
        }],
        body: grouped(body, &mut ops),
        ..ThreadProgram::default()
    };
    let traced = Traced { program: &program, facts: &Facts::default(), buffers: 1, is_sync: &|_| true };
    let found = check(&traces(traced, &|| ()), Rules::default(), &|_| false, &|| ());
    let line = |hazard: &crate::Hazard| {
        let touch = |touch: crate::Touch| {
            let deed = if touch.write { "write" } else { "read" };
            let by = if touch.collective { "the warp of thread" } else { "thread" };
            format!("{deed} #{} by {by} {}", touch.op.0, touch.thread)
        };
        format!("s[{}]: {}, {}\n", hazard.element, touch(hazard.earlier), touch(hazard.later))
    };
    want.assert_eq(&found.iter().map(line).collect::<String>());
}

/// Makes every statement but branches and loops an operation.
fn grouped(body: Vec<Stmt>, ops: &mut u32) -> Vec<Stmt> {
    let mut group = |stmt: Stmt| match stmt {
        Stmt::Control(Control::If { cond, then, otherwise }) => {
            let (then, otherwise) = (grouped(then, ops), grouped(otherwise, ops));
            Stmt::Control(Control::If { cond, then, otherwise })
        }
        Stmt::Control(Control::While { cond, body, origin }) => {
            Stmt::Control(Control::While { cond, body: grouped(body, ops), origin })
        }
        Stmt::Leaf(Leaf::Let { .. } | Leaf::Assign { .. }) => stmt,
        stmt => {
            *ops += 1;
            let (op, origin) = (OpId(*ops - 1), Origin(*ops));
            Stmt::Control(Control::Group(Group {
                op,
                scope: ScopeId::BLOCK,
                origin,
                title: String::new(),
                body: vec![stmt],
            }))
        }
    };
    body.into_iter().map(&mut group).collect()
}

#[test]
fn each_thread_takes_its_own_way() {
    // The second warp writes what the first reads.
    check_program(
        vec![choose(vec![], vec![write(lane())]), choose(vec![read(lane())], vec![])],
        expect!["s[0]: write #0 by thread 32, read #1 by thread 0\n"],
    );
    // Each warp writes half of the tensor.
    check_program(
        vec![
            choose(vec![write(lane())], vec![write(c(32) + lane())]),
            Stmt::Leaf(Leaf::Barrier),
            read(c(63) - thread()),
        ],
        expect![""],
    );
}

#[test]
fn a_barrier_joins_the_warps_that_pass_it() {
    let mirrored = |barrier| vec![write(thread()), barrier, read(c(63) - thread())];
    check_program(mirrored(Stmt::Leaf(Leaf::Barrier)), expect![""]);
    check_program(
        mirrored(choose(vec![Stmt::Leaf(Leaf::Barrier)], vec![])),
        expect!["s[63]: write #0 by thread 63, read #2 by thread 0\n"],
    );
    // A barrier of the first warp orders what its own lanes do.
    let swapped = |barrier| {
        vec![choose(vec![write(lane()), barrier, read(c(31) - lane())], vec![write(c(32) + lane())])]
    };
    check_program(swapped(Stmt::Leaf(Leaf::WarpBarrier)), expect![""]);
    check_program(
        swapped(Stmt::Leaf(Leaf::Commit)),
        expect!["s[31]: write #0 by thread 31, read #2 by thread 0\n"],
    );
}

#[test]
fn each_thread_leaves_a_loop_when_its_condition_fails() {
    let n = Symbol::Var("n".into(), 0);
    let count = Expr::symbol(n.clone());
    let warp = thread().div(&c(32), &Facts::default());
    // The first warp runs two rounds, the second warp one. Both write the word of the round.
    let rounds = |place: Expr| {
        let next = Stmt::Leaf(Leaf::Assign { var: n.clone(), value: count.clone() + c(1) });
        let goes_on = Cond::Cmp(CmpOp::Lt, count.clone(), c(2));
        vec![
            Stmt::Leaf(Leaf::Let { var: n.clone(), value: warp.clone() }),
            Stmt::Control(Control::While {
                cond: goes_on,
                body: vec![choose_lane(write(place)), next],
                origin: None,
            }),
        ]
    };
    check_program(rounds(count.clone()), expect!["s[1]: write #0 by thread 32, write #0 by thread 0\n"]);
    check_program(rounds(count.clone() + warp.clone() * c(2)), expect![""]);
}

/// Runs a statement in the first lane of each warp.
fn choose_lane(stmt: Stmt) -> Stmt {
    Stmt::Control(Control::If {
        cond: Cond::Cmp(CmpOp::Eq, lane(), c(0)),
        then: vec![stmt],
        otherwise: vec![],
    })
}

#[test]
fn all_lanes_take_part_in_a_collective_access() {
    // Every lane reads the rows of all lanes, so that a thread may not overwrite even the row at its own address.
    let rows = || transfer("ldmatrix.x1", lane() * c(4));
    let own = || choose_lane(write(thread()));
    let in_first_warp = |body| vec![choose(body, vec![])];
    check_program(
        in_first_warp(vec![rows(), own()]),
        expect!["s[0]: read #0 by the warp of thread 0, write #1 by thread 0\n"],
    );
    check_program(in_first_warp(vec![rows(), Stmt::Leaf(Leaf::WarpBarrier), own()]), expect![""]);
    // An earlier read by the thread alone does not hide it.
    check_program(
        in_first_warp(vec![choose_lane(read(thread())), rows(), own()]),
        expect!["s[0]: read #1 by the warp of thread 0, write #2 by thread 0\n"],
    );
}

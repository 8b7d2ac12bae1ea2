//! Tests counters: which block draws which number, the ring of tickets, and mistakes in its barriers.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::{CmpOp, Cond, Expr};
use hx_thread::{
    Barrier, BarrierKind, Control, Counter, Draw, Drawn, Group, Lanes, Leaf, Memory, RegId, Role, Stmt,
};
use hx_tile::{Origin, Scalar, Scope, ScopeId, ScopeKind};

use super::build::*;
use crate::{Argument, Config, run};

const DRAWS: ScopeId = ScopeId(1);
const GROUPS: ScopeId = ScopeId(2);

/// Three scopes loop over a counter: a role of 64 threads, which draws, and two groups of 32 threads.
struct Counted {
    kernel: Kernel,
    out: Memory,
    shared: Memory,
    value: RegId,
}

/// The counter hands out the numbers below this.
const LIMIT: i64 = 12;

impl Counted {
    fn new(blocks: i64) -> Counted {
        let mut kernel = Kernel::new(128);
        kernel.grid(blocks, 1);
        let scope = |kind, first, threads, groups| Scope { kind, first, threads, groups };
        kernel.program.scopes.push(scope(ScopeKind::Role, 0, 64, 1));
        kernel.program.scopes.push(scope(ScopeKind::Group, 64, 32, 2));
        let out = kernel.output("out", DType::I32, &[64 * LIMIT], &[1]);
        kernel.output("c", DType::I32, &[1], &[1]);
        let shared = kernel.shared("s", DType::I32, 64);
        let value = kernel.registers("r", DType::I32, 1);
        let barrier = |kind, count, at| Barrier {
            kind,
            pipe: "work".into(),
            stages: 2,
            count,
            at,
            origin: Origin(40),
            sums: false,
        };
        let at = kernel.program.shared_bytes;
        kernel.program.shared_bytes += 40;
        kernel.program.barriers =
            vec![barrier(BarrierKind::Full, 1, at), barrier(BarrierKind::Empty, 4, at + 16)];
        kernel.program.counters.push(Counter {
            name: "work".into(),
            param: 1,
            limit: c(LIMIT),
            at: at + 32,
            full: 0,
            empty: 1,
            origin: Origin(41),
        });
        Counted { kernel, out, shared, value }
    }

    /// Returns a loop over the counter as the lowering makes it.
    fn over(&self, draws: bool, body: Vec<Stmt>) -> Vec<Stmt> {
        let [ticket, parity] = ["ticket", "parity"].map(symbol);
        let draw = |index, parity| {
            let draw = Stmt::Leaf(Leaf::Draw(Draw { counter: 0, index, parity }));
            draws.then_some(draw)
        };
        let start = |var: &str| Stmt::Leaf(Leaf::Let { var: symbol(var), value: c(0) });
        let set = |var: &str, value| Stmt::Leaf(Leaf::Assign { var: symbol(var), value });
        let wraps = Cond::Cmp(CmpOp::Eq, var("ticket"), c(2));
        let wrap = vec![set("ticket", c(0)), set("parity", c(1) - var("parity"))];
        let mut round = vec![
            set("ticket", var("ticket") + c(1)),
            Stmt::Control(Control::If { cond: wraps, then: wrap, otherwise: Vec::new() }),
        ];
        round.extend(draw(var("ticket"), c(1) - var("parity")));
        round.extend(body);
        let (index, now) = (Expr::symbol(ticket), Expr::symbol(parity));
        let drawn =
            Drawn { var: symbol("t"), counter: 0, index, parity: now, origin: Origin(42), body: round };
        let mut out = vec![start("ticket"), start("parity")];
        out.extend(draw(c(0), c(1)));
        out.push(Stmt::Control(Control::Drawn(drawn)));
        out
    }

    fn op(&mut self, scope: ScopeId, title: &str, body: Vec<Stmt>) -> Stmt {
        match self.kernel.group(title, body) {
            Stmt::Control(Control::Group(group)) => Stmt::Control(Control::Group(Group { scope, ..group })),
            other => other,
        }
    }

    fn store(&mut self, scope: ScopeId, memory: Memory, offset: Expr, value: Expr) -> Stmt {
        let set = compute(first(self.value, 1), Vec::new(), Scalar::Integer { value, dtype: DType::I32 });
        let row = if matches!(memory, Memory::Shared(_)) { "st.shared.b32" } else { "st.global.b32" };
        let body = vec![set, transfer(row, first(self.value, 1), memory, offset)];
        self.op(scope, "copy(r, s)", body)
    }

    /// The groups write the number of their block, from 1 on, to the places of a drawn number.
    fn mark(&mut self) -> Stmt {
        let at = var("t").scale(64) + var("g").scale(32) + thread();
        self.store(GROUPS, self.out, at, block(0) + c(1))
    }

    fn with(mut self, draws: Vec<Stmt>, groups: Vec<Stmt>) -> Counted {
        let role = |scope, index, body| Role { scope, registers: None, index, lanes: Lanes::All, body };
        self.kernel.push(Stmt::Control(Control::Roles(vec![
            role(DRAWS, None, draws),
            role(GROUPS, Some(symbol("g")), groups),
        ])));
        self
    }

    /// Runs the program. The result has for each number and group the block that drew it.
    fn result(&self, seed: u64, start: f64) -> String {
        let zeros = vec![0.0; 64 * LIMIT as usize];
        let mut arguments = [vector(DType::I32, &zeros), vector(DType::I32, &[start])];
        let config = Config { seed, ..Config::default() };
        match run(&self.kernel.program, &BTreeMap::new(), &mut arguments, &config) {
            Ok(_) => owners(&arguments),
            failed => error_text(failed),
        }
    }
}

fn owners(arguments: &[Argument]) -> String {
    let out = values(DType::I32, &arguments[0]);
    let of = |group: usize| -> Vec<String> {
        out[32 * group..].iter().step_by(64).map(ToString::to_string).collect()
    };
    assert_eq!(of(0), of(1), "the groups agree");
    format!("{}, then {}\n", of(0).join(" "), values(DType::I32, &arguments[1])[0])
}

/// A program in which every scope loops, and the groups mark their numbers.
fn marking(blocks: i64) -> Counted {
    let mut counted = Counted::new(blocks);
    let mark = counted.mark();
    let (draws, groups) = (counted.over(true, Vec::new()), counted.over(false, vec![mark]));
    counted.with(draws, groups)
}

#[test]
fn every_number_is_drawn_once_and_the_seed_selects_by_whom() {
    let drawn: String = (0..5).map(|seed| marking(4).result(seed, 0.0)).collect();
    expect![[r#"
        1 2 3 4 1 2 3 4 1 2 3 4, then 0
        3 2 2 1 2 1 4 2 3 2 1 1, then 0
        3 4 3 3 2 4 1 3 4 2 2 3, then 0
        1 1 2 1 2 2 1 1 1 1 3 4, then 0
        3 2 1 2 2 3 4 3 3 2 2 3, then 0
    "#]]
    .assert_eq(&drawn);
    // More blocks than numbers.
    assert_eq!(marking(20).result(0, 0.0), "1 2 3 4 5 6 7 8 9 10 11 12, then 0\n");
}

#[test]
fn a_counter_begins_at_0() {
    expect!["the counter `work` is 3 before the launch, expected 0\n  \n"]
        .assert_eq(&marking(2).result(0, 3.0));
}

/// Runs a changed program with several seeds, and compares the different results.
fn check(change: impl Fn(&mut Counted), want: Expect) {
    let found = (0..8).map(|seed| {
        let mut counted = marking(2);
        change(&mut counted);
        counted.result(seed, 0.0)
    });
    let mut found: Vec<String> = found.collect();
    found.sort();
    found.dedup();
    want.assert_eq(&found.concat());
}

#[test]
fn a_ticket_is_kept_until_all_scopes_have_read_it() {
    // The barrier lets the draw happen before the last group has read its ticket.
    check(
        |counted| counted.kernel.program.barriers[1].count = 3,
        expect![[r#"
            deadlock: threads 0 to 63 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing); thread 32 waits in `draw work` for the scopes that read ticket 0 of `work` (3 of 3 arrivals are missing); threads 64 to 95 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing); threads 96 to 127 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing)
              block [0, 0, 0]
            deadlock: threads 0 to 63 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing); thread 32 waits in `draw work` for the scopes that read ticket 0 of `work` (3 of 3 arrivals are missing); threads 64 to 95 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing); threads 96 to 127 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing)
              block [1, 0, 0]
            deadlock: threads 64 to 95 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing)
              block [1, 0, 0]
            round 3 of a loop over `work` reads ticket 1, which holds draw 7
              block [1, 0, 0]
            round 4 of a loop over `work` reads ticket 0, which holds draw 8
              block [0, 0, 0]
        "#]],
    );
    // The draw waits for a warp that does not exist.
    check(
        |counted| counted.kernel.program.barriers[1].count = 5,
        expect![[r#"
            deadlock: threads 0 to 63 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing); thread 32 waits in `draw work` for the scopes that read ticket 0 of `work` (1 of 5 arrivals are missing); threads 64 to 95 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing); threads 96 to 127 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing)
              block [0, 0, 0]
            deadlock: threads 0 to 63 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing); thread 32 waits in `draw work` for the scopes that read ticket 0 of `work` (1 of 5 arrivals are missing); threads 64 to 95 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing); threads 96 to 127 wait in `for t in work` for the number in ticket 0 of `work` (1 of 1 arrivals are missing)
              block [1, 0, 0]
        "#]],
    );
}

/// Returns the loops of the two roles.
fn loops(counted: &mut Counted) -> [&mut Vec<Stmt>; 2] {
    let Some(Stmt::Control(Control::Roles(roles))) = counted.kernel.program.body.last_mut() else {
        panic!("no roles")
    };
    let [a, b] = roles.as_mut_slice() else { panic!("not two roles") };
    [&mut a.body, &mut b.body]
}

#[test]
fn a_draw_that_is_missing_is_a_deadlock() {
    let without_later_draws = |counted: &mut Counted| {
        let Some(Stmt::Control(Control::Drawn(drawn))) = loops(counted)[0].last_mut() else {
            panic!("no loop")
        };
        drawn.body.retain(|stmt| !matches!(stmt, Stmt::Leaf(Leaf::Draw(_))));
    };
    check(
        without_later_draws,
        expect![[r#"
            deadlock: threads 0 to 63 wait in `for t in work` for the number in ticket 1 of `work` (1 of 1 arrivals are missing); threads 64 to 95 wait in `for t in work` for the number in ticket 1 of `work` (1 of 1 arrivals are missing); threads 96 to 127 wait in `for t in work` for the number in ticket 1 of `work` (1 of 1 arrivals are missing)
              block [0, 0, 0]
            deadlock: threads 0 to 63 wait in `for t in work` for the number in ticket 1 of `work` (1 of 1 arrivals are missing); threads 64 to 95 wait in `for t in work` for the number in ticket 1 of `work` (1 of 1 arrivals are missing); threads 96 to 127 wait in `for t in work` for the number in ticket 1 of `work` (1 of 1 arrivals are missing)
              block [1, 0, 0]
        "#]],
    );
}

#[test]
fn a_scope_that_does_not_loop_leaves_the_counter_behind() {
    let without_loops = |counted: &mut Counted| loops(counted).into_iter().for_each(Vec::clear);
    check(without_loops, expect!["the blocks draw 0 times from `work`, expected 14"]);
}

#[test]
fn a_ticket_orders_no_other_accesses() {
    let mut counted = Counted::new(2);
    let shared = counted.shared;
    let write = counted.store(DRAWS, shared, thread(), var("t"));
    let read = vec![
        transfer("ld.shared.b32", first(counted.value, 1), shared, thread()),
        transfer("st.global.b32", first(counted.value, 1), counted.out, var("t").scale(64) + thread()),
    ];
    let read = counted.op(GROUPS, "copy(s, out)", read);
    let (draws, groups) = (counted.over(true, vec![write]), counted.over(false, vec![read]));
    let counted = counted.with(draws, groups);
    expect![[r#"
        reads element 0 of the shared tensor `s`, which thread 0 wrote in #0 `copy(r, s)`, with no barrier in between
          thread 96, block [1, 0, 0], #1 `copy(s, out)`
    "#]].assert_eq(&counted.result(1, 0.0));
    expect![[r#"
        reads byte 0 (element 0) of the shared tensor `s`, which was never written
          thread 64, block [0, 0, 0], #1 `copy(s, out)`
    "#]]
    .assert_eq(&counted.result(0, 0.0));
}

//! Tests roles: groups of threads with statements of their own, and the events that they wait for.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::Expr;
use hx_thread::{Control, Group, Lanes, Leaf, Memory, RegId, Role, Stmt};
use hx_tile::{Scalar, Scope, ScopeId, ScopeKind};

use super::build::*;
use crate::{Argument, Config, run};

/// A program of a first role of 32 threads and of two groups with 32 threads each.
struct Roles {
    kernel: Kernel,
    out: Memory,
    shared: Memory,
    value: RegId,
}

const FIRST: ScopeId = ScopeId(1);
const GROUPS: ScopeId = ScopeId(2);

impl Roles {
    fn new() -> Roles {
        let mut kernel = Kernel::new(96);
        let scope = |kind, first, groups| Scope { kind, first, threads: 32, groups };
        kernel.program.scopes.push(scope(ScopeKind::Role, 0, 1));
        kernel.program.scopes.push(scope(ScopeKind::Group, 32, 2));
        let out = kernel.output("out", DType::I32, &[96], &[1]);
        let shared = kernel.shared("s", DType::I32, 96);
        let value = kernel.registers("r", DType::I32, 1);
        Roles { kernel, out, shared, value }
    }

    /// Stores `value` at `offset`.
    fn store(&mut self, scope: ScopeId, memory: Memory, offset: Expr, value: Expr) -> Stmt {
        let set = Scalar::Integer { value, dtype: DType::I32 };
        let row = if matches!(memory, Memory::Shared(_)) { "st.shared.b32" } else { "st.global.b32" };
        let set = compute(first(self.value, 1), Vec::new(), set);
        let body = vec![set, transfer(row, first(self.value, 1), memory, offset)];
        self.op(scope, "copy(r, s)", body)
    }

    /// Copies an element of shared memory to `out`.
    fn load(&mut self, scope: ScopeId, from: Expr, to: Expr) -> Stmt {
        let read = transfer("ld.shared.b32", first(self.value, 1), self.shared, from);
        let write = transfer("st.global.b32", first(self.value, 1), self.out, to);
        self.op(scope, "copy(s, out)", vec![read, write])
    }

    fn op(&mut self, scope: ScopeId, title: &str, body: Vec<Stmt>) -> Stmt {
        match self.kernel.group(title, body) {
            Stmt::Control(Control::Group(group)) => Stmt::Control(Control::Group(Group { scope, ..group })),
            other => other,
        }
    }

    /// Adds the roles, runs the program with several seeds, and returns the result that all agree on.
    fn result(mut self, one: Vec<Stmt>, groups: Vec<Stmt>) -> String {
        let role = |scope, index, body| Role { scope, registers: None, index, lanes: Lanes::All, body };
        let roles = vec![role(FIRST, None, one), role(GROUPS, Some(symbol("g")), groups)];
        self.kernel.push(Stmt::Control(Control::Roles(roles)));
        let results = (0..12).map(|seed| {
            let mut arguments = [vector(DType::I32, &[0.0; 96])];
            let config = Config { seed, ..Config::default() };
            match run(&self.kernel.program, &BTreeMap::new(), &mut arguments, &config) {
                Ok(_) => text(&arguments[0]),
                failed => error_text(failed),
            }
        });
        let mut results: Vec<String> = results.collect();
        results.dedup();
        results.join(" or ")
    }
}

/// Formats the first element of every 16.
fn text(out: &Argument) -> String {
    let values = values(DType::I32, out);
    values.iter().step_by(16).map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn check(found: &str, want: Expect) {
    want.assert_eq(found);
}

fn wait(id: Expr, threads: u32) -> Stmt {
    Stmt::Leaf(Leaf::NamedSync { id, threads })
}

fn arrive(id: Expr, threads: u32) -> Stmt {
    Stmt::Leaf(Leaf::NamedArrive { id, threads })
}

#[test]
fn groups_have_threads_registers_and_numbers_of_their_own() {
    let mut roles = Roles::new();
    let out = roles.out;
    let one = roles.store(FIRST, out, thread(), c(100) + thread());
    let at = var("g").scale(32) + c(32) + thread();
    let each = roles.store(GROUPS, out, at, var("g").scale(1000) + thread());
    check(&roles.result(vec![one], vec![each]), expect!["100 116 0 16 1000 1016"]);
}

#[test]
fn nothing_orders_the_accesses_of_two_roles() {
    let mut roles = Roles::new();
    let shared = roles.shared;
    let one = roles.store(FIRST, shared, thread(), c(7));
    let each = roles.store(GROUPS, shared, c(63) - thread() - var("g").scale(32), c(8));
    let found = roles.result(vec![one], vec![each]);
    let races = found.matches("with no barrier in between").count();
    assert!(races > 0 && !found.contains("100"), "{found}");
}

#[test]
fn a_named_barrier_orders_those_that_wait_after_those_that_arrive() {
    let order = |arrives: bool| {
        let mut roles = Roles::new();
        let shared = roles.shared;
        let mut one = vec![roles.store(FIRST, shared, thread(), c(40) + thread())];
        let id = || c(3) + var("g");
        if arrives {
            one.extend([arrive(c(3), 64), arrive(c(4), 64)]);
        }
        let at = var("g").scale(32) + thread();
        let read = roles.load(GROUPS, c(31) - thread(), at);
        let waits = if arrives { vec![wait(id(), 64), read] } else { vec![read] };
        roles.result(one, waits)
    };
    check(&order(true), expect!["71 55 71 55 0 0"]);
    assert!(order(false).contains("never written") || order(false).contains("with no barrier"));
}

#[test]
fn turns_follow_each_other_in_the_order_of_the_groups() {
    let mut roles = Roles::new();
    let shared = roles.shared;
    let next = rem(var("g") + c(1), 2);
    let last = hx_index::Cond::Cmp(hx_index::CmpOp::Eq, var("g"), c(1));
    let begin =
        Stmt::Control(Control::If { cond: last, then: vec![arrive(c(5), 64)], otherwise: Vec::new() });
    let set = roles.store(GROUPS, shared, thread(), var("g").scale(10) + var("i"));
    let get = roles.load(GROUPS, c(31) - thread(), var("g").scale(32) + thread());
    let turn = vec![wait(c(5) + var("g"), 64), set, get, arrive(c(5) + next, 64)];
    // Within a group the load follows the store of other lanes after a barrier of the warp.
    let turn = turn.into_iter().flat_map(|stmt| [stmt, Stmt::Leaf(Leaf::WarpBarrier)]).collect();
    let rounds = repeat("i", c(3), false, turn);
    check(&roles.result(Vec::new(), vec![begin, rounds]), expect!["2 2 12 12 0 0"]);
}

#[test]
fn agents_that_all_wait_are_a_deadlock() {
    let mut roles = Roles::new();
    let one = roles.op(FIRST, "a.take()", vec![wait(c(3), 64)]);
    let each = roles.op(GROUPS, "b.take()", vec![wait(c(4) + var("g"), 64)]);
    check(
        &roles.result(vec![one], vec![each]),
        expect![[r#"
            deadlock: threads 0 to 31 wait in #0 `a.take()` for 32 of the 64 threads of barrier 3; threads 32 to 63 wait in #1 `b.take()` for 32 of the 64 threads of barrier 4; threads 64 to 95 wait in #1 `b.take()` for 32 of the 64 threads of barrier 5
              block [0, 0, 0], #0 `a.take()`
        "#]],
    );
}

#[test]
fn a_deadlock_tells_the_barrier_of_the_source() {
    let mut roles = Roles::new();
    roles.kernel.program.named.insert(3, "full".to_owned());
    let one = roles.op(FIRST, "full.sync()", vec![wait(c(3), 96)]);
    let each = roles.op(GROUPS, "full.arrive()", vec![arrive(c(3), 96)]);
    let some = hx_index::Cond::Cmp(hx_index::CmpOp::Eq, var("g"), c(1));
    let each = Stmt::Control(Control::If { cond: some, then: vec![each], otherwise: Vec::new() });
    check(
        &roles.result(vec![one], vec![each]),
        expect![[r#"
        deadlock: threads 0 to 31 wait in #0 `full.sync()` for 32 of the 96 threads of the barrier `full`
          block [0, 0, 0], #0 `full.sync()`
    "#]],
    );
}

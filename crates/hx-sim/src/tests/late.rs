//! Tests waits for which a warp may be late.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use hx_thread::{Arrivals, Barrier, BarrierKind, Control, Group, Lanes, Leaf, Role, Stmt, Waiters};
use hx_tile::{OpId, Origin, Scope, ScopeId, ScopeKind};

use super::build::*;
use crate::{Config, run};

const FULL: u32 = 0;
const EMPTY: u32 = 1;

/// Two warps acquire a stage and announce its bytes; a third warp waits for them and releases the stage. With `arrives`, both
/// warps also arrive at the full barrier, behind their wait.
fn check(by: Waiters, arrives: bool, want: Expect) {
    let mut k = Kernel::new(96);
    for (first, threads) in [(0, 64), (64, 32)] {
        k.program.scopes.push(Scope { kind: ScopeKind::Role, first, threads, groups: 1 });
    }
    for (kind, count) in [(BarrierKind::Full, if arrives { 3 } else { 1 }), (BarrierKind::Empty, 1)] {
        let at = k.program.shared_bytes;
        let (pipe, origin) = ("ring".to_owned(), Origin(0));
        k.program.barriers.push(Barrier { kind, pipe, stages: 1, count, at, origin, sums: false });
        k.program.shared_bytes += 8;
    }
    let arrive =
        |barrier| Stmt::Leaf(Leaf::Arrive { barrier, index: c(0), by: Arrivals::Warps, blocks: Vec::new() });
    let mut fill = vec![Stmt::Leaf(Leaf::Await { barrier: EMPTY, index: c(0), parity: c(1), by })];
    fill.extend(arrives.then(|| arrive(FULL)));
    fill.push(Stmt::Leaf(Leaf::Expect { barrier: FULL, index: c(0), bytes: 0 }));
    let wait = Stmt::Leaf(Leaf::Await { barrier: FULL, index: c(0), parity: c(0), by: Waiters::All });
    let role = |number, title: &str, body| {
        let (scope, op) = (ScopeId(number), OpId(number));
        let group = Group { op, scope, origin: Origin(number), title: title.into(), body };
        Role {
            scope,
            registers: None,
            index: None,
            lanes: Lanes::All,
            body: vec![Stmt::Control(Control::Group(group))],
        }
    };
    let roles = vec![role(1, "acquire()", fill), role(2, "wait()", vec![wait, arrive(EMPTY)])];
    k.push(Stmt::Control(Control::Roles(roles)));
    let found = match run(&k.program, &BTreeMap::new(), &mut [], &Config::default()) {
        Ok(_) => "right".to_owned(),
        failed => error_text(failed),
    };
    want.assert_eq(&found);
}

#[test]
fn a_warp_that_makes_no_copy_may_come_when_its_stage_was_given_back() {
    check(
        Waiters::All,
        false,
        expect![[r#"
            a warp may be late for a phase of stage 0 of `ring`, and miss it
              block [0, 0, 0], #1 `acquire()`
        "#]],
    );
    check(Waiters::First, false, expect!["right"]);
    check(Waiters::All, true, expect!["right"]);
}

//! Programs that break a rule of thread programs are refused, not printed.

use expect_test::{Expect, expect};
use hx_codegen::cuda;
use hx_index::{Expr, Symbol};

use hx_thread::{Control, Leaf, Memory, Stmt};
use hx_tile::{Scope, ScopeId, ScopeKind};

use crate::build::*;
use crate::programs;

fn check(stmt: Stmt, expected: Expect) {
    let mut program = programs::vector_copy();
    program.body.push(stmt);
    expected.assert_eq(&cuda(&program).map_or_else(|e| e.to_string(), |s| s.text));
}

#[test]
fn refused() {
    let ra = || regs(0, c(0), 0..8);
    check(
        Stmt::Leaf(Leaf::Transfer(load(8, ra(), Memory::Global(0), c(0)))),
        expect!["`ld.global.v2.b32` takes 4 elements for `registers`, not 8"],
    );
    check(
        Stmt::Leaf(Leaf::Transfer(load(16, regs(7, c(0), 0..8), Memory::Global(0), c(0)))),
        expect!["`register array 7` is not there"],
    );
    check(
        Stmt::Leaf(Leaf::Transfer(load(16, ra(), Memory::Shared(0), c(0)))),
        expect!["`the tensor Shared(0)` is not there"],
    );
    let unknown = Expr::symbol(Symbol::Var("i".into(), 5));
    check(
        Stmt::Leaf(Leaf::Transfer(load(16, ra(), Memory::Global(0), unknown.clone()))),
        expect!["`i` is used where it has no value"],
    );
    check(fill(regs(0, unknown, 0..8), 0), expect!["`i` is used where it has no value"]);
}

#[test]
fn operations_of_some_threads_are_refused() {
    let mut program = programs::vector_copy();
    program.scopes.push(Scope { kind: ScopeKind::Group, first: 0, threads: 64, groups: 1 });
    let of_group = program.body.iter_mut().find_map(|stmt| match stmt {
        Stmt::Control(Control::Group(group)) => Some(group),
        _ => None,
    });
    of_group.unwrap().scope = ScopeId(1);
    expect!["the group of threads 0..64 executes operation #0 among the statements of the block"]
        .assert_eq(&cuda(&program).unwrap_err().to_string());
}

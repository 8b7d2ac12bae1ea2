//! Tests programs and launches that the simulator refuses.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::{CmpOp, Cond, Expr, Symbol};
use hx_thread::{Control, Leaf, Memory, Param, Stmt};
use hx_tile::{Requirement, Scope, ScopeId, ScopeKind};

use super::build::*;
use crate::{Argument, Config, run};

/// Compares the error of one statement with `want`, in a kernel of 32 threads with a tensor, a shared buffer and registers of
/// f16.
fn check(statement: Stmt, want: Expect) {
    let mut k = Kernel::new(32);
    k.input("a", DType::F16, &[64], &[1]);
    k.shared("s", DType::F16, 64);
    k.registers("r", DType::F16, 4);
    k.registers("f", DType::F32, 4);
    k.op("op", vec![statement]);
    want.assert_eq(&k.error(&mut [vector(DType::F16, &[0.0; 64])]));
}

const A: Memory = Memory::Global(0);
const S: Memory = Memory::Shared(0);
const R: hx_thread::RegId = hx_thread::RegId(0);
const F: hx_thread::RegId = hx_thread::RegId(1);

#[test]
fn malformed_programs() {
    check(
        transfer("ld.global.b16", first(R, 1), S, thread()),
        expect![[r#"
        `ld.global.b16` addresses global memory, but is given shared
          #0 `op`
    "#]],
    );
    check(
        transfer("ld.global.b16", first(F, 1), A, thread()),
        expect![[r#"
        the registers `f` hold f32 where `ld.global.b16` takes f16
          #0 `op`
    "#]],
    );
    check(
        transfer("ld.global.b32", first(R, 1), A, thread()),
        expect![[r#"
        1 registers where `ld.global.b32` takes 2
          #0 `op`
    "#]],
    );
    check(
        transfer("ld.global.b32", first(R, 2), Memory::Global(3), thread()),
        expect![[r#"
            parameter 3 is not a tensor
              #0 `op`
        "#]],
    );
    check(
        transfer("st.global.b32", first(R, 2), A, thread()),
        expect![[r#"
        `a` is written, but not declared `mut`
          #0 `op`
    "#]],
    );
    check(
        transfer("ld.global.b32", at(R, c(3), 2), A, thread()),
        expect![[r#"
        position 4 of the registers `r`, of 4 elements
          #0 `op`
    "#]],
    );
    check(
        transfer("ld.global.b16", at(R, thread(), 1), A, thread()),
        expect![[r#"
        the register position `thread` differs between the threads of a block
          #0 `op`
    "#]],
    );
    check(
        guarded("ldmatrix.x1", first(R, 2), S, c(0), lt(thread(), c(3)), 0),
        expect![[r#"
        `ldmatrix.x1` is executed by all lanes, but guarded by `thread < 3`
          #0 `op`
    "#]],
    );
    check(
        multiply("fma.f64", first(F, 1), first(F, 1), first(F, 1)),
        expect![[r#"
        the registers `f` hold f32 where `fma.f64` takes f64
          #0 `op`
    "#]],
    );
    check(
        multiply("mma.m16n8k16.f32.f16", first(F, 4), first(R, 4), first(R, 4)),
        expect![[r#"
        4 registers for A where `mma.m16n8k16.f32.f16` takes 8
          #0 `op`
    "#]],
    );
    check(
        convert(Some("cvt.f16x2.f32"), first(R, 1), first(F, 1)),
        expect![[r#"
        1 destinations where `cvt.f16x2.f32` takes 2
          #0 `op`
    "#]],
    );
    check(
        convert(None, first(R, 1), first(F, 1)),
        expect![[r#"
        the registers `r` hold f16 where `move` takes f32
          #0 `op`
    "#]],
    );
    check(
        fill(first(R, 1), 0x1_0000),
        expect![[r#"
        the fill with 0x10000 is wider than its element
          #0 `op`
    "#]],
    );
    let twice = hx_thread::Registers { array: R, base: c(0), offsets: vec![1, 1] };
    check(
        transfer("ld.global.b32", twice, A, thread()),
        expect![[r#"
        offset 1 occurs twice among registers of `r` that are written
          #0 `op`
    "#]],
    );
    let body = vec![transfer("ld.global.b16", at(R, var("i"), 1), A, thread())];
    check(
        repeat("i", c(4), false, body.clone()),
        expect![[r#"
        the position `i` in the registers `r` depends on more than counters of unrolled loops
          #0 `op`
    "#]],
    );
    check(
        repeat("i", c(5), true, body),
        expect![[r#"
        position 4 of the registers `r`, of 4 elements
          block [0, 0, 0], #0 `op`
    "#]],
    );
    check(
        repeat("i", thread(), false, Vec::new()),
        expect![[r#"
        the end `thread` differs between the threads of a block
          #0 `op`
    "#]],
    );
    let cond = lt(thread(), c(3));
    check(
        Stmt::Control(Control::If { cond, then: Vec::new(), otherwise: Vec::new() }),
        expect![[r#"
        `if thread < 3` differs between the threads of a block
          #0 `op`
    "#]],
    );
}

#[test]
fn integers_without_a_value() {
    let load = |offset: Expr| transfer("ld.global.b16", first(R, 1), A, offset);
    check(
        load(var("q")),
        expect![[r#"
        `q` has no value here
          #0 `op`
    "#]],
    );
    let zero = rem(block(0), 5);
    let quotient = Expr::atom(hx_index::Atom::Div(thread(), zero.clone()));
    check(
        load(quotient.clone()),
        expect![[r#"
        division by zero in `thread / (block_idx.x % 5)`
          thread 0, block [0, 0, 0], #0 `op`
    "#]],
    );
    check(
        load(thread() * c(i64::MAX / 4)),
        expect![[r#"
        integer overflow in `thread * 2305843009213693951`
          thread 5, block [0, 0, 0], #0 `op`
    "#]],
    );
    // An address is not computed for threads whose guard fails.
    let guard = Cond::Cmp(CmpOp::Ne, zero, c(0)).and(lt(quotient.clone(), c(1)));
    check(guarded("ld.global.b16", first(R, 1), A, quotient, guard, 0), expect!["no error"]);
}

#[test]
fn launches() {
    let mut k = Kernel::new(32);
    k.output("a", DType::F16, &[64], &[1]);
    if let Param::Tensor(a) = &mut k.program.params[0] {
        a.shape = vec![Expr::dim("n")];
        a.align = 16;
    }
    k.program.params.push(Param::Scalar { name: "x".into(), dtype: DType::I32 });
    k.program.grid = vec![Expr::dim("n") - c(100)];
    let cond = Cond::Cmp(CmpOp::Lt, Expr::symbol(Symbol::Scalar("x".into())), Expr::dim("n"));
    k.program.requires.push(Requirement { cond, text: "x < n".into() });
    let check = |n: Option<i64>, arguments: &[Argument], want: Expect| {
        let symbols: BTreeMap<Symbol, i64> = n.map(|n| (Symbol::Dim("n".into()), n)).into_iter().collect();
        let text = error_text(run(&k.program, &symbols, &mut arguments.to_vec(), &Config::default()));
        want.assert_eq(&text);
    };
    let a = |len: usize, base_align: u32| match vector(DType::F16, &vec![0.0; len]) {
        Argument::Tensor { bytes, shape, stride, .. } => {
            Argument::Tensor { bytes, shape, stride, base_align }
        }
        other => other,
    };
    let x = Argument::Int(3);
    check(Some(128), &[a(128, 16), x.clone()], expect!["no error"]);
    check(Some(128), &[a(128, 16)], expect!["1 arguments where `test` takes 2"]);
    check(Some(128), &[x.clone(), x.clone()], expect!["a number for the tensor `a`"]);
    check(Some(128), &[a(128, 16), a(128, 16)], expect!["a tensor for the number `x`"]);
    check(Some(128), &[a(128, 16), Argument::Float(0.5)], expect!["a fraction for `x`, which is i32"]);
    check(Some(128), &[a(128, 16), Argument::Int(500)], expect!["the launch breaks `x < n`"]);
    check(Some(128), &[a(120, 16), x.clone()], expect!["`a` is [120] : [1] where [128] : [1] is expected"]);
    check(Some(128), &[a(128, 8), x.clone()], expect!["`a` is aligned to 8 bytes where 16 are expected"]);
    check(Some(50), &[a(50, 16), x.clone()], expect!["a grid of -50 blocks, from `n - 100`"]);
    check(None, &[a(50, 16), x], expect!["`n` has no value here"]);
}

#[test]
fn operations_of_some_threads_are_refused() {
    let mut k = Kernel::new(64);
    k.registers("r", DType::F16, 4);
    k.op("op", vec![Stmt::Leaf(Leaf::Barrier)]);
    k.program.scopes.push(Scope { kind: ScopeKind::Group, first: 32, threads: 32, groups: 1 });
    if let Some(Stmt::Control(Control::Group(group))) = k.program.body.last_mut() {
        group.scope = ScopeId(1);
    }
    expect![[r#"
        the group of threads 32..64 executes an operation in the statements of the block
          #0 `op`
    "#]]
    .assert_eq(&k.error(&mut []));
}

//! Tests prints and assertions: which records are kept or dropped, and what a failed run leaves.

use std::collections::BTreeMap;
use std::fmt::Write;

use expect_test::{Expect, expect};
use hx_dtype::{DType, Operator};
use hx_index::{CmpOp, Cond, Expr, Facts};
use hx_thread::{Control, Leaf, Log, LogContents, LogEntry, LogKind, LogValue, Put, Registers, Stmt};
use hx_tile::{OpId, Origin, Scalar};

use super::build::*;
use crate::{Config, run_with_log};

fn entry(k: &mut Kernel, kind: LogKind, value: Option<(DType, &[i64])>) -> u32 {
    let value = value.map(|(dtype, shape)| LogValue { dtype, shape: shape.to_vec(), uniform: false });
    let (op, origin, text, sides) = (OpId(0), Origin(0), String::new(), Vec::new());
    k.program.log.push(LogEntry { op, origin, kind, text, value, sides });
    k.program.log.len() as u32 - 1
}

fn put(entry: u32, value: Registers, position: Expr, guard: Cond) -> Stmt {
    Stmt::Leaf(Leaf::Log(Log {
        entry,
        body: vec![Stmt::Leaf(Leaf::Put(Put { entry, value, position, guard, sides: vec![] }))],
    }))
}

fn text(k: &Kernel) -> String {
    let mut log = LogContents::default();
    let config = Config::default();
    let ran = run_with_log(&k.program, &BTreeMap::new(), &mut [], &config, &mut log);
    let mut out = String::new();
    for p in &log.printed {
        let value = k.program.log[p.entry].value.as_ref();
        let values: Vec<f64> = value.map_or_else(Vec::new, |v| {
            let count = v.shape.iter().product::<i64>() as usize;
            (0..count).map(|i| v.dtype.decode(hx_dtype::load(v.dtype, &p.bytes, i))).collect()
        });
        let _ = writeln!(out, "block {:?} entry {}: {values:?}", p.block, p.entry);
    }
    for f in &log.failed {
        let _ = writeln!(out, "{f:?}");
    }
    if log.dropped > 0 {
        let _ = writeln!(out, "{} dropped", log.dropped);
    }
    if ran.is_err() {
        out += error_text(ran).trim_end();
        out.push('\n');
    }
    out
}

fn check(k: &Kernel, want: Expect) {
    let once = text(k);
    assert_eq!(once, text(k), "the same every time");
    want.assert_eq(&once);
}

/// Fills `r` with a number that differs between threads and blocks.
fn numbered(k: &mut Kernel, dtype: DType) -> hx_thread::RegId {
    let r = k.registers("r", dtype, 1);
    let value = thread() + block(0).scale(100);
    let number = Scalar::Integer { value, dtype: DType::I32 }.cast(dtype);
    k.push(compute(first(r, 1), vec![], number));
    r
}

#[test]
fn blocks_print_in_order_and_the_guard_picks_threads() {
    let mut k = Kernel::new(40);
    k.grid(2, 2);
    let r = numbered(&mut k, DType::F16);
    let print = entry(&mut k, LogKind::Print, Some((DType::F16, &[2, 3])));
    let words = entry(&mut k, LogKind::Print, None);
    let facts = Facts::default();
    let even = Cond::cmp(CmpOp::Eq, rem(thread(), 2), c(0), &facts).and(lt(thread(), c(12)));
    k.op("print(r)", vec![put(print, first(r, 1), div(thread(), 2), even)]);
    let second = Cond::cmp(CmpOp::Eq, block(1), c(1), &facts);
    let say = Stmt::Leaf(Leaf::Log(Log { entry: words, body: vec![] }));
    k.push(Stmt::Control(Control::If { cond: second, then: vec![say], otherwise: vec![] }));
    check(
        &k,
        expect![[r#"
        block [0, 0, 0] entry 0: [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        block [1, 0, 0] entry 0: [100.0, 102.0, 104.0, 106.0, 108.0, 110.0]
        block [0, 1, 0] entry 0: [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        block [0, 1, 0] entry 1: []
        block [1, 1, 0] entry 0: [100.0, 102.0, 104.0, 106.0, 108.0, 110.0]
        block [1, 1, 0] entry 1: []
    "#]],
    );
}

#[test]
fn loops_print_as_often_as_they_run() {
    let mut k = Kernel::new(32);
    let r = numbered(&mut k, DType::U8);
    let print = entry(&mut k, LogKind::Print, Some((DType::U8, &[1])));
    let body =
        vec![put(print, first(r, 1), c(0), Cond::cmp(CmpOp::Eq, thread(), var("i"), &Facts::default()))];
    k.push(repeat("i", c(3), false, body));
    check(
        &k,
        expect![[r#"
        block [0, 0, 0] entry 0: [0.0]
        block [0, 0, 0] entry 0: [1.0]
        block [0, 0, 0] entry 0: [2.0]
    "#]],
    );
}

#[test]
fn what_finds_no_room_is_counted() {
    let mut k = Kernel::new(32);
    k.grid(3, 1);
    let r = numbered(&mut k, DType::F32);
    let wide = entry(&mut k, LogKind::Print, Some((DType::F32, &[1 << 11, 1 << 11])));
    let words = entry(&mut k, LogKind::Print, None);
    let nobody = lt(thread(), c(0));
    let body = vec![
        put(wide, first(r, 1), thread(), nobody),
        Stmt::Leaf(Leaf::Log(Log { entry: words, body: vec![] })),
    ];
    k.push(repeat("i", c(2), false, body));
    let mut log = LogContents::default();
    run_with_log(&k.program, &BTreeMap::new(), &mut [], &Config::default(), &mut log).expect("it runs");
    let kept: Vec<(u32, usize)> = log.printed.iter().map(|p| (p.block[0], p.entry)).collect();
    expect!["[(0, 0), (0, 1)], 10 dropped"].assert_eq(&format!("{kept:?}, {} dropped", log.dropped));
}

#[test]
fn assertions_count_and_name_the_first_failure() {
    let mut k = Kernel::new(32);
    k.grid(1, 3);
    let holds = k.registers("holds", DType::Bool, 1);
    let assert = entry(&mut k, LogKind::Assert, Some((DType::Bool, &[4, 8])));
    let always = entry(&mut k, LogKind::Assert, Some((DType::Bool, &[4, 8])));
    let integer = |value: Expr| Scalar::Integer { value, dtype: DType::I32 };
    // Fails where `block.y · i · thread ≥ 5`: in blocks 1 and 2, from the second iteration on, for the higher threads.
    let sum = block(1) * var("i") * thread();
    let small = Scalar::apply(Operator::Lt, DType::I32, [integer(sum), integer(c(5))]);
    let body = vec![
        compute(first(holds, 1), vec![], small),
        put(assert, first(holds, 1), thread(), Cond::True),
        fill(first(holds, 1), 1),
        put(always, first(holds, 1), thread(), Cond::True),
    ];
    k.push(repeat("i", c(3), false, body));
    check(
        &k,
        expect![[r#"
            Failed { entry: 0, count: 115, block: [0, 1, 0], run: 1, coordinate: [0, 5], sides: [] }
        "#]],
    );
}

#[test]
fn the_sides_are_those_of_the_first_failure() {
    let mut k = Kernel::new(32);
    k.grid(3, 1);
    let [left, right, holds] = [("left", DType::I16), ("right", DType::F64), ("holds", DType::Bool)]
        .map(|(n, d)| k.registers(n, d, 1));
    let assert = entry(&mut k, LogKind::Assert, Some((DType::Bool, &[1])));
    k.program.log[assert as usize].sides = vec![DType::I16, DType::F64];
    let integer = |value: Expr, dtype| Scalar::Integer { value, dtype };
    // Fails in blocks 1 and 2, from the second iteration on.
    let below = [integer(block(0) * var("i"), DType::I32), integer(c(1), DType::I32)];
    let put = Put {
        entry: assert,
        value: first(holds, 1),
        position: c(0),
        guard: lt(thread(), c(1)),
        sides: vec![first(left, 1), first(right, 1)],
    };
    let body = vec![
        compute(first(left, 1), vec![], integer(block(0).scale(10) - var("i").scale(100), DType::I16)),
        compute(first(right, 1), vec![], integer(var("i"), DType::I32).cast(DType::F64)),
        compute(first(holds, 1), vec![], Scalar::apply(Operator::Lt, DType::I32, below)),
        Stmt::Leaf(Leaf::Log(Log { entry: assert, body: vec![Stmt::Leaf(Leaf::Put(put))] })),
    ];
    k.push(repeat("i", c(3), false, body));
    check(
        &k,
        expect![[r#"
        Failed { entry: 0, count: 4, block: [1, 0, 0], run: 1, coordinate: [0], sides: [65446, 4607182418800017408] }
    "#]],
    );
}

#[test]
fn a_run_that_fails_has_printed_before() {
    let mut k = Kernel::new(32);
    k.grid(3, 1);
    let r = numbered(&mut k, DType::I32);
    let never = k.registers("never", DType::I32, 1);
    let print = entry(&mut k, LogKind::Print, Some((DType::I32, &[1])));
    let one = lt(thread(), c(1));
    k.op("print(r)", vec![put(print, first(r, 1), c(0), one.clone())]);
    let later = Cond::cmp(CmpOp::Eq, block(0), c(1), &Facts::default());
    let body = vec![put(print, first(never, 1), c(0), one)];
    k.push(Stmt::Control(Control::If { cond: later, then: body, otherwise: vec![] }));
    check(
        &k,
        expect![[r#"
        block [0, 0, 0] entry 0: [0.0]
        block [1, 0, 0] entry 0: [100.0]
        reads element 0 of the registers `never`, which was never written
          block [1, 0, 0]
    "#]],
    );
}

#[test]
fn malformed_logs_are_refused() {
    let mut k = Kernel::new(32);
    let r = numbered(&mut k, DType::I32);
    let print = entry(&mut k, LogKind::Print, Some((DType::I32, &[8])));
    let mut try_ = |stmt: Stmt, want: Expect| {
        k.push(stmt);
        check(&k, want);
        k.program.body.pop();
    };
    try_(
        put(print, first(r, 1), thread(), Cond::True),
        expect![[r#"
        position 8 of a record of 8 elements
          thread 8, block [0, 0, 0]
    "#]],
    );
    try_(
        put(7, first(r, 1), c(0), Cond::True),
        expect![[r#"
        there is no entry 7 to print or assert
    "#]],
    );
    try_(
        put(print, at(r, c(1), 1), c(0), Cond::True),
        expect![[r#"
        position 1 of the registers `r`, of 1 elements
    "#]],
    );
    let lone = Stmt::Leaf(Leaf::Put(Put {
        entry: print,
        value: first(r, 1),
        position: c(0),
        guard: Cond::True,
        sides: vec![],
    }));
    try_(
        lone,
        expect![[r#"
        an element for entry 0 where it is not printed or asserted
    "#]],
    );
}

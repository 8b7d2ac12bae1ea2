//! Tests uniform integers that change, loops on conditions, integers from memory, and the report as a table.

use expect_test::{Expect, expect};
use hx_dtype::{DType, Operator};
use hx_index::{CmpOp, Cond, Expr};
use hx_thread::{Address, Control, Leaf, Memory, Stmt};
use hx_tile::Scalar;

use super::build::*;
use crate::{Argument, Config, Fault, run};

fn let_(name: &str, value: Expr) -> Stmt {
    Stmt::Leaf(Leaf::Let { var: symbol(name), value })
}

fn assign(name: &str, value: Expr) -> Stmt {
    Stmt::Leaf(Leaf::Assign { var: symbol(name), value })
}

fn load(name: &str, memory: Memory, offset: Expr) -> Stmt {
    Stmt::Leaf(Leaf::LoadInteger { var: symbol(name), address: Address { memory, offset } })
}

fn while_(cond: Cond, body: Vec<Stmt>) -> Stmt {
    Stmt::Control(Control::While { cond, body, origin: None })
}

/// Runs statements with tensors `a` (i32), `u` (u8), `f` (f32) and `m` (`mut` i32). Compares the integer `x` that they leave, or
/// the error, with `want`.
fn check(body: Vec<Stmt>, want: Expect) {
    let mut k = Kernel::new(32);
    let i = DType::I32;
    k.input("a", i, &[8], &[1]);
    k.input("u", DType::U8, &[8], &[1]);
    k.input("f", DType::F32, &[8], &[1]);
    let m = k.output("m", i, &[32], &[1]);
    k.shared("s", i, 8);
    let r = k.registers("r", i, 1);
    k.program.body = body;
    k.push(compute(first(r, 1), vec![], Scalar::Integer { value: var("x"), dtype: i }));
    k.push(transfer("st.global.b32", first(r, 1), m, thread()));
    let mut arguments = [
        vector(i, &[3.0, -5.0, 7.0, 2.0, 0.0, 1.0, 6.0, 4.0]),
        vector(DType::U8, &[200.0; 8]),
        vector(DType::F32, &[0.0; 8]),
        vector(i, &[0.0; 32]),
    ];
    match k.run(&mut arguments) {
        Ok(_) => want.assert_eq(&format!("{}", values(i, &arguments[3])[31])),
        error => want.assert_eq(error_text(error).trim_end()),
    }
}

const A: Memory = Memory::Global(0);
const U: Memory = Memory::Global(1);

#[test]
fn integers_change() {
    check(vec![let_("x", c(1)), assign("x", var("x") * c(5)), assign("x", var("x") + c(2))], expect!["7"]);
    let collatz = vec![
        let_("x", c(0)),
        let_("n", c(27)),
        while_(
            lt(c(1), var("n")),
            vec![
                Stmt::Control(Control::If {
                    cond: Cond::Cmp(CmpOp::Eq, rem(var("n"), 2), c(0)),
                    then: vec![assign("n", div(var("n"), 2))],
                    otherwise: vec![assign("n", var("n") * c(3) + c(1))],
                }),
                assign("x", var("x") + c(1)),
            ],
        ),
    ];
    check(collatz, expect!["111"]);
    check(vec![let_("x", c(9)), while_(lt(var("x"), c(3)), vec![assign("x", c(0))])], expect!["9"]);
    // Assigning to a name that hides an outer one does not change the outer one.
    let inner = vec![let_("x", c(5)), assign("x", c(6))];
    let body = vec![
        let_("x", c(1)),
        Stmt::Control(Control::If { cond: lt(block(0), c(1)), then: inner, otherwise: vec![] }),
    ];
    check(body, expect!["1"]);
}

#[test]
fn integers_come_from_memory() {
    check(vec![load("x", A, c(1))], expect!["-5"]);
    check(vec![load("x", U, block(0))], expect!["200"]);
    // A list linked by positions: 0, 3, 2, 7, 4.
    let follow = vec![
        let_("x", c(0)),
        let_("n", c(0)),
        while_(
            lt(var("n"), c(4)),
            vec![load("next", A, var("x")), assign("x", var("next")), assign("n", var("n") + c(1))],
        ),
    ];
    check(follow, expect!["4"]);
    check(vec![load("x", A, c(2)), assign("x", var("x") + c(1))], expect!["8"]);
    check(
        vec![load("x", A, c(8))],
        expect![[r#"
            reads element 8 ([8]) of `a`, whose shape is [8] : [1]
              block [0, 0, 0]"#]],
    );
}

#[test]
fn endless_loops_are_found() {
    check(
        vec![let_("x", c(0)), while_(lt(var("x"), c(3)), vec![Stmt::Leaf(Leaf::Barrier)])],
        expect![[r#"
            no progress: `while x < 3` holds after an iteration that changed nothing (number 2)
              block [0, 0, 0]"#]],
    );
    check(
        vec![let_("x", c(3)), while_(lt(c(0), var("x")), vec![assign("x", var("x") + c(1))])],
        expect![[r#"
            no progress: `while 0 < x` still holds after 10000000 iterations
              block [0, 0, 0]"#]],
    );
}

#[test]
fn endless_loops_can_be_cancelled_and_bounded() {
    let mut k = Kernel::new(32);
    k.push(let_("x", c(0)));
    k.push(while_(lt(var("x"), c(i64::MAX)), vec![assign("x", var("x") + c(1))]));
    let config = Config { while_limit: 1000, ..Config::default() };
    let error = run(&k.program, &Default::default(), &mut [], &config).unwrap_err();
    assert!(matches!(error.fault, Fault::NoProgress { iterations: 1000, repeats: false, .. }));
    let asked = std::sync::atomic::AtomicU32::new(0);
    let cancel = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 100;
    let config = Config { cancel: &cancel, while_limit: u64::MAX, ..Config::default() };
    let error = run(&k.program, &Default::default(), &mut [], &config).unwrap_err();
    assert_eq!(error.fault, Fault::Cancelled);
}

#[test]
fn malformed_integers() {
    let x = || let_("x", c(0));
    check(
        vec![x(), assign("x", thread())],
        expect!["the value of `x`, which changes, `thread` differs between the threads of a block"],
    );
    check(
        vec![let_("x", thread()), assign("x", c(0))],
        expect!["the value of `x`, which changes, `thread` differs between the threads of a block"],
    );
    check(
        vec![x(), while_(lt(thread(), c(3)), vec![])],
        expect!["`while thread < 3` differs between the threads of a block"],
    );
    check(vec![assign("x", c(1))], expect!["`x` is changed where there is no such integer"]);
    check(
        vec![x(), repeat("i", c(3), false, vec![assign("i", c(1))])],
        expect!["`i` is changed, but is not a local integer"],
    );
    check(
        vec![load("x", Memory::Global(3), c(0))],
        expect!["`x` is read from `m`, whose elements are not the same for all threads, as it is `mut`"],
    );
    check(
        vec![load("x", Memory::Shared(0), c(0))],
        expect!["`x` is read from shared memory, where it may differ"],
    );
    check(
        vec![load("x", A, thread())],
        expect!["the position `thread` differs between the threads of a block"],
    );
}

#[test]
fn the_report_as_a_table() {
    let mut k = Kernel::new(128);
    k.grid(3, 1);
    let (f, n) = (DType::F32, 3 * 32 * 128);
    let a = k.input("a", f, &[n], &[1]);
    let b = k.output("b", f, &[n], &[1]);
    let s = k.shared("s", f, 32 * 128);
    let r = k.registers("r", f, 32);
    k.push(load("seed", Memory::Global(2), block(0)));
    k.input("seeds", DType::I32, &[3], &[1]);
    let place = |i: Expr| (block(0) * c(32) + i) * c(128) + thread();
    let body = vec![transfer("ld.global.b32", at(r, var("i"), 1), a, place(var("i")))];
    k.op("copy(a, r)", vec![repeat("i", c(32), true, body)]);
    let value = Scalar::apply(Operator::Exp2, f, [input(0, f)]);
    let body = vec![compute(at(r, var("i"), 1), vec![at(r, var("i"), 1)], value)];
    k.op("r = exp2(r)", vec![repeat("i", c(32), true, body)]);
    let body = vec![transfer("st.shared.b32", at(r, var("i"), 1), s, thread() * c(32) + var("i"))];
    k.op("copy(r, s)", vec![repeat("i", c(32), true, body)]);
    k.push(Stmt::Leaf(Leaf::Barrier));
    let body = vec![transfer("st.global.b32", at(r, var("i"), 1), b, place(c(0)))];
    let store = k.group("copy(r, b)", vec![repeat("i", c(32), true, body)]);
    k.push(Stmt::Control(Control::If { cond: lt(block(0), c(2)), then: vec![store], otherwise: vec![] }));
    let skipped = k.group("never()", vec![Stmt::Leaf(Leaf::Commit)]);
    k.push(Stmt::Control(Control::If { cond: lt(block(0), c(0)), then: vec![skipped], otherwise: vec![] }));
    let mut arguments =
        [vector(f, &vec![0.0; n as usize]), vector(f, &vec![0.0; n as usize]), vector(DType::I32, &[0.0; 3])];
    let report = k.run(&mut arguments).unwrap();
    expect![[r#"
        op  instructions      bytes  redundant  sectors  ideal  wavefronts  ideal  operation
        #0           384   48.0 KiB                1536   1536                     copy(a, r)
        #1           384                                                           r = exp2(r)
        #2           384   48.0 KiB                                  12288    384  copy(r, s)
        #3           256   32.0 KiB                1024   1024                     copy(r, b)
        #4                                                                         never()
                      12     1536 B     1524 B       12     12                     outside of operations
                    1420  129.5 KiB     1524 B     2572   2572       12288    384  in all
        3 blocks of 128 threads, 3 barriers
    "#]]
    .assert_eq(&report.table(&k.program));
    let one = Kernel::new(1);
    let report = one.run(&mut [] as &mut [Argument]).unwrap();
    expect![[r#"
        op  instructions  bytes  redundant  sectors  ideal  wavefronts  ideal  operation
                                                                               in all
        1 block of 1 thread, 0 barriers
    "#]]
    .assert_eq(&report.table(&one.program));
}

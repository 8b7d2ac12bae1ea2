//! Tests expressions within threads and exchanges between lanes.

use expect_test::{Expect, expect};
use hx_dtype::{DType, Operator};
use hx_index::Expr;
use hx_tile::Scalar;

use super::build::*;
use crate::{Argument, Fault};

/// Runs `value` over `x` and `y`, one element of each a thread, and compares every thread's result with `want`.
fn check(dtype: DType, x: &[f64], y: &[f64], value: Scalar, want: &[f64]) {
    let threads = x.len() as u32;
    let n = i64::from(threads);
    let made = value.dtype();
    let mut k = Kernel::new(threads);
    k.number("alpha", DType::F32);
    let a = k.input("x", dtype, &[n], &[1]);
    let b = k.input("y", dtype, &[n], &[1]);
    let out = k.output("z", made, &[n], &[1]);
    let (rx, ry, rz) = (k.registers("x", dtype, 1), k.registers("y", dtype, 1), k.registers("z", made, 1));
    k.push(transfer(&row("ld", dtype), first(rx, 1), a, thread()));
    k.push(transfer(&row("ld", dtype), first(ry, 1), b, thread()));
    k.op("map", vec![compute(first(rz, 1), vec![first(rx, 1), first(ry, 1)], value)]);
    k.push(transfer(&row("st", made), first(rz, 1), out, thread()));
    let mut arguments =
        [Argument::Float(0.5), vector(dtype, x), vector(dtype, y), vector(made, &vec![0.0; x.len()])];
    k.run(&mut arguments).unwrap();
    let got = values(made, &arguments[3]);
    assert!(got.iter().zip(want).all(|(g, w)| g == w || g.is_nan() && w.is_nan()), "{got:?}, not {want:?}");
}

fn row(verb: &str, dtype: DType) -> String {
    match dtype.bits() {
        64 => format!("{verb}.global.v2.b32"),
        bits => format!("{verb}.global.b{bits}"),
    }
}

fn integer(value: Expr) -> Scalar {
    Scalar::Integer { value, dtype: DType::I32 }
}

#[test]
fn operators_and_conversions() {
    let f = DType::F32;
    let (x, y) = (|| input(0, f), || input(1, f));
    let fma = Scalar::apply(Operator::Fma, f, [x(), y(), Scalar::constant(1.0, f)]);
    check(f, &[1.5, -2.0], &[2.0, 3.0], fma, &[4.0, -5.0]);
    let alpha = Scalar::Param { name: "alpha".into(), dtype: f };
    let scaled = Scalar::apply(Operator::Mul, f, [x(), alpha]).cast(DType::F16);
    check(f, &[3.0, 4099.0], &[0.0; 2], scaled, &[1.5, 2050.0]);
    let cut = x().cast(DType::I32);
    check(f, &[-2.9, 2.9, 1e20, f64::NAN], &[0.0; 4], cut, &[-2.0, 2.0, 2_147_483_647.0, 0.0]);
    let bits = Scalar::apply(Operator::Lt, f, [x(), y()]);
    check(f, &[1.0, 2.0, f64::NAN], &[2.0, 1.0, 0.0], bits, &[1.0, 0.0, 0.0]);
    let less = Scalar::apply(Operator::Lt, f, [x(), y()]);
    let smaller = Scalar::apply(Operator::Select, f, [less, x(), y()]);
    check(f, &[1.0, 5.0], &[2.0, 3.0], smaller, &[1.0, 3.0]);
    let e = Scalar::apply(Operator::Exp, f, [Scalar::apply(Operator::Sub, f, [x(), y()])]);
    check(f, &[1.0, 2.0], &[1.0, 1.0], e, &[1.0, f64::from(1f64.exp() as f32)]);
    let d = DType::F64;
    let quotient = Scalar::apply(Operator::Div, d, [input(0, d), input(1, d)]);
    check(d, &[1.0, 2.0], &[3.0, 3.0], quotient, &[1.0 / 3.0, 2.0 / 3.0]);
}

#[test]
fn integers_depend_on_the_thread_and_wrap() {
    let i = DType::I32;
    let sum = Scalar::apply(Operator::Add, i, [input(0, i), integer(thread() * c(2))]);
    check(i, &[10.0, 20.0, 30.0], &[0.0; 3], sum, &[10.0, 22.0, 34.0]);
    let byte = Scalar::Integer { value: thread() * c(100), dtype: DType::I8 };
    check(i, &[0.0; 4], &[0.0; 4], byte, &[0.0, 100.0, -56.0, 44.0]);
    let real = Scalar::Integer { value: thread() - c(1), dtype: DType::F16 };
    check(i, &[0.0; 3], &[0.0; 3], real, &[-1.0, 0.0, 1.0]);
    // The value is the same in every thread, but known only when a block runs.
    check(i, &[0.0; 2], &[0.0; 2], integer(block(0) + c(7)), &[7.0, 7.0]);
    // A move takes an instruction too.
    check(i, &[3.0, 4.0], &[5.0, 6.0], input(1, i), &[5.0, 6.0]);
}

#[test]
fn a_result_may_replace_its_input() {
    let f = DType::F32;
    let mut k = Kernel::new(32);
    let out = k.output("z", f, &[32], &[1]);
    let r = k.registers("r", f, 2);
    k.push(compute(first(r, 1), vec![], Scalar::Integer { value: thread(), dtype: f }));
    let double = Scalar::apply(Operator::Add, f, [input(0, f), input(1, f)]);
    k.push(compute(first(r, 1), vec![first(r, 1), first(r, 1)], double));
    k.push(compute(at(r, c(1), 1), vec![first(r, 1)], input(0, f)));
    k.push(transfer("st.global.b32", at(r, c(1), 1), out, thread()));
    let mut arguments = [vector(f, &[0.0; 32])];
    k.run(&mut arguments).unwrap();
    let want: Vec<f64> = (0..32).map(|i| f64::from(2 * i)).collect();
    assert_eq!(values(f, &arguments[0]), want);
}

/// Compares the error of `value` over an initialized register `r` and an uninitialized register `u`, both f32, with `want`.
fn check_error(value: Scalar, want: Expect) {
    let mut k = Kernel::new(32);
    k.number("n", DType::F32);
    let (r, u) = (k.registers("r", DType::F32, 1), k.registers("u", DType::F32, 4));
    k.push(fill(first(r, 1), 0));
    k.op("map", vec![compute(first(r, 1), vec![first(r, 1), at(u, c(2), 1)], value)]);
    want.assert_eq(&k.error(&mut [Argument::Float(1.0)]));
}

#[test]
fn only_what_is_selected_must_be_there() {
    let f = DType::F32;
    let less = |x: Expr, y: i64| Scalar::apply(Operator::Lt, DType::I32, [integer(x), integer(c(y))]);
    let select = |cond, x, y| Scalar::apply(Operator::Select, f, [cond, x, y]);
    let missing = || Scalar::apply(Operator::Neg, f, [input(1, f)]);
    check_error(
        missing(),
        expect![[r#"
            reads element 2 of the registers `u`, which was never written
              block [0, 0, 0], #0 `map`
        "#]],
    );
    check_error(select(less(thread(), 32), input(0, f), missing()), expect!["no error"]);
    check_error(
        select(less(thread(), 20), input(0, f), missing()),
        expect![[r#"
            reads element 2 of the registers `u`, which was never written
              thread 20, block [0, 0, 0], #0 `map`
        "#]],
    );
    let inner = |from| select(less(c(from) - thread(), 0), missing(), input(0, f));
    check_error(select(less(thread(), 20), inner(19), input(0, f)), expect!["no error"]);
    check_error(
        select(less(thread(), 20), inner(17), input(0, f)),
        expect![[r#"
            reads element 2 of the registers `u`, which was never written
              thread 18, block [0, 0, 0], #0 `map`
        "#]],
    );
    // Two selects whose conditions have the same structure but differ.
    let twice =
        [less(thread(), 32), less(c(0) - thread(), -10)].map(|cond| select(cond, input(0, f), input(1, f)));
    check_error(
        Scalar::apply(Operator::Add, f, twice),
        expect![[r#"
            reads element 2 of the registers `u`, which was never written
              thread 0, block [0, 0, 0], #0 `map`
        "#]],
    );
    // An integer without a value is no error if no thread selects it.
    let quotient = Expr::atom(hx_index::Atom::Div(c(8), thread() - block(0) - c(3)));
    let quotient = || Scalar::Integer { value: quotient.clone(), dtype: f };
    check_error(select(less(thread(), 3), quotient(), input(0, f)), expect!["no error"]);
    check_error(
        select(less(thread(), 4), quotient(), input(0, f)),
        expect![[r#"
            division by zero in `8 / (-block_idx.x + thread - 3)`
              thread 3, block [0, 0, 0], #0 `map`
        "#]],
    );
}

#[test]
fn malformed_expressions() {
    let f = DType::F32;
    check_error(
        input(2, f),
        expect![[r#"
            `$2` is none of the 2 inputs
              #0 `map`
        "#]],
    );
    check_error(
        input(0, DType::F16).cast(f),
        expect![[r#"
            the registers `r` hold f32 where `$0` takes f16
              #0 `map`
        "#]],
    );
    check_error(
        Scalar::Index { axis: 0 }.cast(f),
        expect![[r#"
            `index(0)` is left in a thread program
              #0 `map`
        "#]],
    );
    check_error(
        input(0, f).cast(DType::F16),
        expect![[r#"
            the registers `r` hold f32, but `cast($0, f16)` is f16
              #0 `map`
        "#]],
    );
    check_error(
        Scalar::Param { name: "m".into(), dtype: f },
        expect![[r#"
            there is no parameter `m` of f32
              #0 `map`
        "#]],
    );
    check_error(
        Scalar::apply(Operator::Add, f, [input(0, f)]),
        expect![[r#"
            1 operands for `+`, which takes 2
              #0 `map`
        "#]],
    );
    check_error(
        Scalar::apply(Operator::Select, f, [input(0, f), input(0, f), input(0, f)]),
        expect![[r#"
            an operand of `where` is f32 where it takes bool
              #0 `map`
        "#]],
    );
    check_error(
        Scalar::apply(Operator::Exp, DType::I32, [integer(c(1))]).cast(f),
        expect![[r#"
            `exp` has no meaning for i32
              #0 `map`
        "#]],
    );
}

/// Returns the value of each thread after an exchange in a block of `threads` threads.
fn exchanged(threads: u32, mask: u32) -> Result<Vec<f64>, String> {
    let i = DType::I32;
    let mut k = Kernel::new(threads);
    let n = i64::from(threads);
    let out = k.output("z", i, &[n], &[1]);
    let r = k.registers("r", i, 1);
    k.push(compute(first(r, 1), vec![], integer(thread())));
    k.op("sum", vec![exchange(first(r, 1), first(r, 1), mask)]);
    k.push(transfer("st.global.b32", first(r, 1), out, thread()));
    let mut arguments = [vector(i, &vec![0.0; threads as usize])];
    let report = k.run(&mut arguments).map_err(|e| error_text(Err(e)))?;
    assert_eq!(report.ops.values().next().unwrap().instructions, u64::from(threads.div_ceil(32)));
    Ok(values(i, &arguments[0]))
}

#[test]
fn lanes_exchange_within_their_warp() {
    for mask in [0, 1, 5, 16, 31] {
        let want: Vec<f64> = (0..64).map(|t| f64::from(t ^ mask)).collect();
        assert_eq!(exchanged(64, mask), Ok(want));
    }
    assert_eq!(exchanged(40, 7), Ok((0..40).map(|t| f64::from(t ^ 7)).collect()));
    let text = exchanged(40, 8).unwrap_err();
    expect![[r#"
        thread 32 gets a value from thread 40 with `shfl.bfly.b32`, but the block has 40 threads
          #0 `sum`
    "#]]
    .assert_eq(&text);
    let text = exchanged(64, 32).unwrap_err();
    expect![[r#"
        `shfl.bfly.b32` reaches over 32 lanes, beyond the warp
          #0 `sum`
    "#]]
    .assert_eq(&text);
}

#[test]
fn an_exchange_reads_what_was_written() {
    let mut k = Kernel::new(32);
    let (r, u) = (k.registers("r", DType::F32, 1), k.registers("u", DType::F32, 1));
    k.op("sum", vec![exchange(first(r, 1), first(u, 1), 1)]);
    let error = k.run(&mut []).unwrap_err();
    assert!(matches!(error.fault, Fault::UninitializedRegister { .. }), "{error}");
}

#[test]
fn operators_are_counted_for_each_warp() {
    let f = DType::F32;
    let mut k = Kernel::new(96);
    let r = k.registers("r", f, 4);
    let value = Scalar::apply(Operator::Exp, f, [Scalar::constant(1.0, f)]).cast(DType::F16).cast(f);
    let body = vec![compute(at(r, var("i"), 1), vec![], value)];
    k.op("map", vec![repeat("i", c(4), true, body)]);
    k.op("move", vec![compute(first(r, 1), vec![at(r, c(3), 1)], input(0, f))]);
    let report = k.run(&mut []).unwrap();
    let counts: Vec<u64> = report.ops.values().map(|c| c.instructions).collect();
    assert_eq!(counts, [4 * 3 * 3, 3]);
}

//! Calls of functions that are PTX.

use expect_test::expect;

use super::text_of;
use crate::LaunchFacts;

const FUNCTIONS: &str = r#"
#[ptx("rcp.approx.ftz.f32 {result}, {x};")]
fn reciprocal(x: f32) -> f32 { 1.0 / x }

#[ptx("lop3.b32 {result}, {a}, {b}, {c}, {TABLE};")]
fn majority<TABLE = 0xe8>(a: u32, b: u32, c: u32) -> u32 { (a & b) | (a & c) | (b & c) }

#[ptx("mov.u32 {result}, %laneid;", volatile)]
fn lane(of: i32) -> u32;

#[ptx("min.f32 {result}, {x}, {y};")]
fn chosen(x: f32, y: f32) -> f32 { if x > y { y } else { x } }

#[ptx("fma.rn.f16 {result}, {x}, {x}, {x};")]
fn half(x: f16) -> f16;
"#;

/// Shows the tensors in registers and the operations of a kernel with these statements, or its errors.
fn check_body(statements: &str, expect: expect_test::Expect) {
    let header = "kernel f(x: f32[64], i: i32[64], w: u32[64], s: f32, n: i32, y: mut f32[64], v: mut u32[64]) grid [1] threads 32";
    let text = text_of(&format!("{FUNCTIONS}{header} {{\n{statements}\n}}\n"), &[], &LaunchFacts::all_16());
    let is_header = |line: &&str| ["  grid ", "  param "].iter().any(|start| line.starts_with(start));
    expect.assert_eq(&text.split_inclusive('\n').filter(|line| !is_header(line)).collect::<String>());
}

#[test]
fn a_call_is_an_expression_for_each_element() {
    check_body(
        "copy(reciprocal(load(x)) + reciprocal(s), y);",
        expect![[r#"
            kernel f threads 32
              register x_tile: f32[64]
              register value: f32[64]
              #0 copy(x[0..64], x_tile)
              #1 value = (reciprocal(x_tile) + reciprocal(s))
              #2 copy(value, y[0..64])
        "#]],
    );
    check_body(
        "let t = load(w);\ncopy(majority<TABLE = 1>(t, t + 1, 7), v);",
        expect![[r#"
            kernel f threads 32
              register t: u32[64]
              register value: u32[64]
              register value_1: u32[64]
              #0 copy(w[0..64], t)
              #1 value = (t + (1))
              #2 value_1 = majority(t, value, (7))
              #3 copy(value_1, v[0..64])
        "#]],
    );
}

#[test]
fn numbers_that_are_known_take_the_body() {
    check_body(
        "copy(load(x) * reciprocal(4.0), y);",
        expect![[r#"
            kernel f threads 32
              register x_tile: f32[64]
              register value: f32[64]
              #0 copy(x[0..64], x_tile)
              #1 value = (x_tile * 0.25)
              #2 copy(value, y[0..64])
        "#]],
    );
}

#[test]
fn volatile_results_are_stored_at_once() {
    check_body(
        "let a = lane(load(i));\ncopy(a + a, v);",
        expect![[r#"
            kernel f threads 32
              register i_tile: i32[64]
              register value: u32[64]
              register value_1: u32[64]
              #0 copy(i[0..64], i_tile)
              #1 value = lane(i_tile)
              #2 value_1 = (value + value)
              #3 copy(value_1, v[0..64])
        "#]],
    );
    check_body(
        "copy(lane(index(load(x), 0)), v);",
        expect![[r#"
            kernel f threads 32
              register x_tile: f32[64]
              register value: u32[64]
              #0 copy(x[0..64], x_tile)
              #1 value = lane(index(0))
              #2 copy(value, v[0..64])
        "#]],
    );
}

#[test]
fn volatile_results_are_no_numbers_of_the_block() {
    check_body(
        "fill(load(w), lane(n));",
        expect![[r#"
            error[HX0233]: the threads of a block may get different results of `lane`, so it is no number of the block: give it a register tensor
              fill(load(w), lane(n));
                                 ^
              fn lane(of: i32) -> u32;
                 ---- the function is here
        "#]],
    );
    check_body(
        "let most = lane(load(i));\nfor k in 0..2 {\n    if scalar(reduce(most, axis: 0, op: |a, b| max(a, b))) > 3 {\n        copy(most, v);\n    }\n}",
        expect![[r#"
            error[HX0233]: this number of the block depends on `lane`, whose result may differ between threads
                  if scalar(reduce(most, axis: 0, op: |a, b| max(a, b))) > 3 {
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              #[ptx("mov.u32 {result}, %laneid;", volatile)]
                    ---------------------------- the PTX of `lane` is volatile
              help: store the tile and load it again: all threads load the same number from memory
        "#]],
    );
}

#[test]
fn a_meaning_is_an_expression() {
    check_body(
        "copy(chosen(load(x), s), y);",
        expect![[r#"
        error[HX0233]: found a meaning that is more than an expression of the operands
          fn chosen(x: f32, y: f32) -> f32 { if x > y { y } else { x } }
                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          copy(chosen(load(x), s), y);
               ------------------ called from here
          help: choose with `where(condition, x, y)`
    "#]],
    );
}

#[test]
fn operands_have_the_types_of_the_header() {
    check_body(
        "copy(reciprocal(load(w)), y);",
        expect![[r#"
        error[HX0204]: expected `f32`, found elements of type `u32` for `x`
          copy(reciprocal(load(w)), y);
                          ^^^^^^^
          fn reciprocal(x: f32) -> f32 { 1.0 / x }
             ---------- the function is here
    "#]],
    );
    check_body(
        "copy(cast(half(100000.0), f32) + load(x), y);",
        expect![[r#"
        error[HX0203]: found `100000.0` for `x`, expected a number of type `f16`
          copy(cast(half(100000.0), f32) + load(x), y);
                         ^^^^^^^^
          fn half(x: f16) -> f16;
             ---- the function is here
    "#]],
    );
    check_body(
        "copy(reciprocal(n) + load(x), y);",
        expect![[r#"
        error[HX0203]: found a number of type `i32` for `x`, expected a number of type `f32`
          copy(reciprocal(n) + load(x), y);
                          ^
          fn reciprocal(x: f32) -> f32 { 1.0 / x }
             ---------- the function is here
    "#]],
    );
}

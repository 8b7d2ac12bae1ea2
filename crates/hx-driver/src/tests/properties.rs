//! Tests with a `forall`: which cases run, how a failure shrinks, and that one case runs alone by its name.

use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect};

use super::{check, open, show, simulator};
use crate::{Filter, TestOptions, Verdict, WorkLimit, list_tests, run_tests};

/// Runs the tests of a file that a filter wants, and compares the report with the cases and the smallest one that fails.
fn check_with(text: &str, names: &[&str], cases: usize, seed: u64, want: Expect) {
    let (db, file) = open(text);
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let filter = Filter { names, exact: true, skip: Vec::new() };
    let listing = list_tests(&db, &[file], &filter, WorkLimit::unlimited());
    let mut out = show(&db, &listing.diagnostics);
    let options = TestOptions { seed, cases, ..TestOptions::default() };
    run_tests(&db, &listing.cases, &simulator(), &options, &AtomicBool::new(false), |report| {
        report.output.iter().for_each(|line| out += &format!("| {line}\n"));
        let count = report.drawn.as_ref().map_or(String::new(), |drawn| format!(" after {}", drawn.cases));
        out += &format!("{}{count}: ", report.rerun_name());
        match &report.verdict {
            Verdict::Passed => out += "passed\n",
            Verdict::Skipped(reason) => out += &format!("skipped ({reason})\n"),
            Verdict::Failed(found) => out += &format!("failed\n{}", show(&db, found)),
        }
    });
    want.assert_eq(&out);
}

#[test]
fn few_cases_all_run_and_each_once() {
    check_with(
        "test \"t\" forall T in [f16, bf16], k in 1..=2, b in [true] { print(T, k, b); }",
        &["t.hx::t"],
        32,
        0,
        expect![[r#"
            | f16 1 true
            | f16 2 true
            | bf16 1 true
            | bf16 2 true
            t.hx::t after 4: passed
        "#]],
    );
}

#[test]
fn many_cases_begin_with_the_boundaries() {
    check_with(
        "test \"t\" forall m in 1..=300, n in m..=300 { print(m, n); }",
        &["t.hx::t"],
        12,
        0,
        expect![[r#"
            | 1 1
            | 300 300
            | 63 127
            | 32 65
            | 64 255
            | 257 300
            | 256 257
            | 16 256
            | 65 257
            | 299 300
            | 278 285
            | 120 271
            t.hx::t after 12: passed
        "#]],
    );
}

const OFF_BY_ONE: &str = r#"
/// y = x + 1, but the guard of a ragged last tile leaves out the last element.
kernel plus_one(x: f32[n], y: mut f32[n])
    grid [cdiv(n, 64)]
    threads 32
{
    let [b] = block_idx;
    let r = register_tensor(f32, [64]);
    copy(global_view(x[b * 64..], (64,) : (1,)), r);
    let last = if n % 64 == 0 { n } else { n - 1 };
    let inside = b * 64 + index(r, 0) < last;
    copy(where(inside, r + 1.0, r), global_view(y[b * 64..], (64,) : (1,)));
}

test "plus one" forall n in 1..=1000, scale in [0.0, 1.0, 2.0] {
    assume(n >= 70);
    let x = cast(randn(f32, [n]) * scale, f32);
    let y = empty(f32, [n]);
    plus_one(x, y);
    assert_close(y, x + 1, atol: 1e-6);
}
"#;

#[test]
fn a_failure_shrinks_to_the_smallest_shape() {
    check_with(
        OFF_BY_ONE,
        &["t.hx::plus one"],
        32,
        0,
        expect![[r#"
            t.hx::plus one[n = 70, scale = 0.0] after 1: failed
            HX0612 `assert_close(y, x + 1, atol: 1e-6)`: 1 of 70 elements of f32[70] are not within atol: 0.000001 of the reference
              at `block_idx`: `b` = 1
              at `copy(global_view(x[b * 64..], (64,) : (1,)), r)`: block [1] reads `x[64..70]`, `r` = -0.0
              at `if n % 64 == 0 { n } else { n - 1 }`: gives `last`
              at `b * 64 + index(r, 0) < last`: gives `inside`
              at `copy(where(inside, r + 1.0, r), global_view(y[b * 64..], (64,) : (1,)))`: block [1] writes `y[64..70]`
              at `where(inside, r + 1.0, r)`: value -0.0
              note: the smallest case that fails: n = 70, scale = 0.0, shrunk from n = 1000, scale = 2.0 in 51 runs
              note: first at [69]: got -0.0, expected 1.0
              note: worst at [69]: absolute 1.00, relative 1.00, 8.39e6 ulp of f32 (got -0.0, expected 1.0)
              note: wrong: one element
              note: [69] was written in block [1] by thread 2 (warp 0), from value 1 of the stored tile in its layout (32,2):(2,1); the lines show the values that led to it
              note: only thread 2 of block [1] wrote wrong elements
        "#]],
    );
    check_with(
        OFF_BY_ONE,
        &["t.hx::plus one"],
        32,
        1,
        expect![[r#"
            t.hx::plus one[n = 70, scale = 0.0] after 1: failed
            HX0612 `assert_close(y, x + 1, atol: 1e-6)`: 1 of 70 elements of f32[70] are not within atol: 0.000001 of the reference
              at `block_idx`: `b` = 1
              at `copy(global_view(x[b * 64..], (64,) : (1,)), r)`: block [1] reads `x[64..70]`, `r` = 0.0
              at `if n % 64 == 0 { n } else { n - 1 }`: gives `last`
              at `b * 64 + index(r, 0) < last`: gives `inside`
              at `copy(where(inside, r + 1.0, r), global_view(y[b * 64..], (64,) : (1,)))`: block [1] writes `y[64..70]`
              at `where(inside, r + 1.0, r)`: value 0.0
              note: the smallest case that fails: n = 70, scale = 0.0, shrunk from n = 1000, scale = 2.0 in 51 runs
              note: first at [69]: got 0.0, expected 1.0
              note: worst at [69]: absolute 1.00, relative 1.00, 8.39e6 ulp of f32 (got 0.0, expected 1.0)
              note: wrong: one element
              note: [69] was written in block [1] by thread 2 (warp 0), from value 1 of the stored tile in its layout (32,2):(2,1); the lines show the values that led to it
              note: only thread 2 of block [1] wrote wrong elements
        "#]],
    );
}

#[test]
fn one_case_runs_by_its_name() {
    let name = |case: &str| format!("t.hx::plus one[{case}]");
    let run = |case: &str, want: Expect| check_with(OFF_BY_ONE, &[&name(case)], 32, 0, want);
    run(
        "n = 128, scale = 1.0",
        expect![[r#"
            t.hx::plus one[n = 128, scale = 1.0]: passed
        "#]],
    );
    run(
        "n = 69, scale = 1.0",
        expect![[r#"
        t.hx::plus one[n = 69, scale = 1.0]: skipped (`assume` does not hold for it)
    "#]],
    );
    run(
        "n = 71, scale = 2.0",
        expect![[r#"
            t.hx::plus one[n = 71, scale = 2.0]: failed
            HX0612 `assert_close(y, x + 1, atol: 1e-6)`: 1 of 71 elements of f32[71] are not within atol: 0.000001 of the reference
              at `block_idx`: `b` = 1
              at `copy(global_view(x[b * 64..], (64,) : (1,)), r)`: block [1] reads `x[64..71]`, `r` = -2.78472
              at `if n % 64 == 0 { n } else { n - 1 }`: gives `last`
              at `b * 64 + index(r, 0) < last`: gives `inside`
              at `copy(where(inside, r + 1.0, r), global_view(y[b * 64..], (64,) : (1,)))`: block [1] writes `y[64..71]`
              at `where(inside, r + 1.0, r)`: value -2.78472
              note: first at [70]: got -2.78472, expected -1.78471994
              note: worst at [70]: absolute 1.00, relative 0.56, 4.19e6 ulp of f32 (got -2.78472, expected -1.78471994)
              note: wrong: one element
              note: [70] was written in block [1] by thread 6 (warp 0), from value 0 of the stored tile in its layout (32,2):(1,32); the lines show the values that led to it
              note: only thread 6 of block [1] wrote wrong elements
        "#]],
    );
    run(
        "n = 1001, scale = 2.0",
        expect![[r#"
        t.hx::plus one[n = 1001, scale = 2.0]: failed
        HX0614 `1..=1000`: the case `n = 1001, scale = 2.0` has no value for `n`: expected `n = ` and a number of `1..=1000`
    "#]],
    );
    run(
        "n = 71, scale = 3.0",
        expect![[r#"
        t.hx::plus one[n = 71, scale = 3.0]: failed
        HX0614 `[0.0, 1.0, 2.0]`: the case `n = 71, scale = 3.0` has no value for `scale`: expected `scale = ` and one of `0.0`, `1.0`, `2.0`
    "#]],
    );
    run(
        "n = 71",
        expect![[r#"
        t.hx::plus one[n = 71]: failed
        HX0614 `[0.0, 1.0, 2.0]`: the case `n = 71` has no value for `scale`: expected `scale = ` and one of `0.0`, `1.0`, `2.0`
    "#]],
    );
    run(
        "n = 71, scale = 1.0, m = 3",
        expect![[r#"
            t.hx::plus one[n = 71, scale = 1.0, m = 3]: failed
            HX0614 `[0.0, 1.0, 2.0]`: the case `n = 71, scale = 1.0, m = 3` has `m = 3` behind the values of all variables
        "#]],
    );
    run(
        "scale = 1.0",
        expect![[r#"
        t.hx::plus one[scale = 1.0]: failed
        HX0614 `1..=1000`: the case `scale = 1.0` has no value for `n`: expected `n = ` and a number of `1..=1000`
    "#]],
    );
}

#[test]
fn only_the_same_failure_counts() {
    // From 2 to 49 the test fails with another code.
    check_with(
        "test \"t\" forall m in 1..=300 { if m > 1 && m < 50 { print([1][m]); } assert(m < 90); }",
        &["t.hx::t"],
        32,
        3,
        expect![[r#"
            t.hx::t[m = 90] after 2: failed
            HX0612 `m < 90`: `m < 90` does not hold
              note: the smallest case that fails: m = 90, shrunk from m = 300 in 29 runs
              note: left: 90
              note: right: 90
        "#]],
    );
}

#[test]
fn variables_shrink_in_turn() {
    check_with(
        "test \"t\" forall m in 1..=300, n in 1..=m, x in -8.0..8.0, s in [\"a\", \"b\", \"c\"] {\n\
         assert(m + n < 100 || x < 1.25 || s == \"a\");\n}",
        &["t.hx::t"],
        64,
        0,
        expect![[r#"
            t.hx::t[m = 50, n = 50, x = 2.0, s = "b"] after 2: failed
            HX0612 `m + n < 100 || x < 1.25 || s == "a"`: `m + n < 100 || x < 1.25 || s == "a"` does not hold
              note: the smallest case that fails: m = 50, n = 50, x = 2.0, s = "b", shrunk from m = 300, n = 300, x = 7.999999999999999, s = "c" in 102 runs
              note: `m + n < 100` is false: left 100, right 100
              note: `x < 1.25` is false: left 2.0, right 1.25
              note: `s == "a"` is false: left b, right a
        "#]],
    );
    // Some failures have no smaller neighbour below a power of two.
    check_with(
        "test \"t\" forall m in 1..=4096 { assert(m < 65 || m % 64 != 1); }",
        &["t.hx::t"],
        64,
        0,
        expect![[r#"
            t.hx::t[m = 65] after 8: failed
            HX0612 `m < 65 || m % 64 != 1`: `m < 65 || m % 64 != 1` does not hold
              note: the smallest case that fails: m = 65, shrunk from m = 257 in 22 runs
              note: `m < 65` is false: left 65, right 65
              note: `m % 64 != 1` is false: left 1, right 1
        "#]],
    );
}

#[test]
fn domains_that_cannot_be_drawn_from() {
    check(
        r#"
test "empty" forall m in 4..4 { assert(m == 4); }
test "number" forall m in 4 { assert(m == 4); }
test "dependent" forall m in 0..3, n in 0..m { assert(n < m); }
test "none" forall m in 4..10 { assume(m > 20); }
test "some" forall m in 4..10 { assume(m > 8); }
test "no forall" { assume(true); }
test "no bool" forall m in 4..10 { assume(m); }
"#,
        expect![[r#"
            t.hx::empty: failed
            HX0614 `4..4`: found the empty range `4..4`, expected at least one value
              help: `a..b` ends before `b`, `a..=b` includes it
            t.hx::number: failed
            HX0614 `4`: found an integer, expected a range or a list of values
              help: `forall m in 1..=300, T in [f16, bf16]`
            t.hx::dependent: failed
            HX0614 `0..m`: found the empty range `0..0`, expected at least one value
              help: `a..b` ends before `b`, `a..=b` includes it
            t.hx::none: failed
            HX0614 `test`: `assume` holds for none of the 6 cases that were drawn
              help: narrow the values of the `forall` instead
            t.hx::some: passed
            t.hx::no forall: failed
            HX0614 `assume(true)`: found `assume` outside of a test with `forall`: only drawn cases can be left out
              help: an `if` runs the rest of the test for some cases only
            t.hx::no bool: failed
            HX0614 `assume(m)`: found an integer, expected `true` or `false`
              note: the smallest case that fails: m = 4
        "#]],
    );
}

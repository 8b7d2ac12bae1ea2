//! Operators of `reduce` and `scan` whose result depends on the grouping.

use expect_test::{Expect, expect};

use super::check;

/// Checks a kernel whose `body` makes `r` of the tile `t`, of `i`, the columns of its elements, or of the numbers `c` and `s`.
fn check_body(dtype: &str, body: &str, want: Expect) {
    let used = |sign: &str, text: &'static str| if body.contains(sign) { text } else { "" };
    let index = used("i)", "    let i = index(t, 1);\n");
    let (c, s) = (used("* c", ", c: i32"), used("* s", ", s: f32"));
    let text = format!(
        "kernel k(x: {dtype}[m, 64], y: mut {dtype}[m, 64]{c}{s})
    grid [m]
    threads 32
{{
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
{index}    {body}
    copy(r, tile(y, [1, 64])[.., .., block_idx, 0]);
}}
"
    );
    check(&text, want);
}

#[test]
fn differences_and_means_depend_on_the_grouping() {
    check_body(
        "f32",
        "let r = scan(t, axis: 1, op: |a, b| a - b);",
        expect![[r#"
        HX0230 `scan(t, axis: 1, op: |a, b| a - b)` this operator is not associative: of `2.0`, `1.0` and `1.0` it makes `0.0` if it combines the first two first, and `2.0` otherwise
          note: the layout decides which elements are combined first, so the result depends on it
          help: an operator combines results as it combines elements: change the elements before the reduction, or its result behind it
    "#]],
    );
    check_body(
        "f16",
        "let r = scan(t, axis: 1, op: |a, b| (a + b) * 0.5);",
        expect![[r#"
        HX0230 `scan(t, axis: 1, op: |a, b| (a + b) * 0.5)` this operator is not associative: of `2.0`, `1.0` and `1.0` it makes `1.25` if it combines the first two first, and `1.5` otherwise
          note: the layout decides which elements are combined first, so the result depends on it
          help: an operator combines results as it combines elements: change the elements before the reduction, or its result behind it
    "#]],
    );
    check_body(
        "i32",
        "let r = scan(t, axis: 1, op: |a, b| (a + b) / 2);",
        expect![[r#"
        HX0230 `scan(t, axis: 1, op: |a, b| (a + b) / 2)` this operator is not associative: of `3`, `1` and `1` it makes `1` if it combines the first two first, and `2` otherwise
          note: the layout decides which elements are combined first, so the result depends on it
          help: an operator combines results as it combines elements: change the elements before the reduction, or its result behind it
    "#]],
    );
    check_body(
        "f32",
        "let r = scan(t, axis: 1, op: |a, b| a * a + b * b);",
        expect![[r#"
        HX0230 `scan(t, axis: 1, op: |a, b| a * a + b * b)` this operator is not associative: of `2.0`, `1.0` and `1.0` it makes `26.0` if it combines the first two first, and `8.0` otherwise
          note: the layout decides which elements are combined first, so the result depends on it
          help: an operator combines results as it combines elements: change the elements before the reduction, or its result behind it
    "#]],
    );
    check_body(
        "f32",
        "let (r, _) = scan((t, t), axis: 1, op: |(a, f), (b, g)| (a + b * g, f * g));",
        expect![[r#"
        HX0230 `scan((t, t), axis: 1, op: |(a, f), (b, g)| (a + b * g, f * g))` this operator is not associative: of `(0.0, 1.0)`, `(1.0, 1.0)` and `(2.0, 0.0)` it makes `(1.0, 0.0)` if it combines the first two first, and `(0.0, 0.0)` otherwise
          note: the layout decides which elements are combined first, so the result depends on it
          help: an operator combines results as it combines elements: change the elements before the reduction, or its result behind it
    "#]],
    );
}

#[test]
fn nan_and_infinities_are_warned_of() {
    check_body(
        "f32",
        "let r = scan(t, axis: 1, op: |a, b| where(a < b, b, a));",
        expect![[r#"
        HX0230 `scan(t, axis: 1, op: |a, b| where(a < b, b, a))` this operator is not associative: of `6.0`, `nan` and `8.0` it makes `8.0` if it combines the first two first, and `6.0` otherwise
          note: the layout decides which elements are combined first, so the result depends on it
          help: no comparison holds for NaN: `isnan(a) || a < b` in place of `a < b` prefers every number to NaN
    "#]],
    );
    check_body(
        "f16",
        "let r = scan(t, axis: 1, op: |a, b| where(a > b, a, b));",
        expect![[r#"
        HX0230 `scan(t, axis: 1, op: |a, b| where(a > b, a, b))` this operator is not associative: of `8.0`, `nan` and `6.0` it makes `6.0` if it combines the first two first, and `8.0` otherwise
          note: the layout decides which elements are combined first, so the result depends on it
          help: no comparison holds for NaN: `isnan(a) || a < b` in place of `a < b` prefers every number to NaN
    "#]],
    );
    check_body(
        "f32",
        "let (r, _) = scan((t, i), axis: 1, op: |(a, i), (b, j)| (where(a < b, b, a), where(a < b, j, i)));",
        expect![[r#"
            HX0230 `scan((t, i), axis: 1, op: |(a, i), (b, j)| (where(a < b, b, a), where(a < b, j, i)))` this operator is not associative: of `(6.0, 1)`, `(nan, 1)` and `(8.0, 1)` it makes `(8.0, 1)` if it combines the first two first, and `(6.0, 1)` otherwise
              note: the layout decides which elements are combined first, so the result depends on it
              help: no comparison holds for NaN: `isnan(a) || a < b` in place of `a < b` prefers every number to NaN
        "#]],
    );
    check_body(
        "f32",
        "let r = scan(t, axis: 1, op: |a, b| max(a, b) + log(1.0 + exp(-abs(a - b))));",
        expect![[r#"
            HX0230 `scan(t, axis: 1, op: |a, b| max(a, b) + log(1.0 + exp(-abs(a - b))))` this operator is not associative: of `-inf`, `-inf` and `6.0` it makes `nan` if it combines the first two first, and `6.0` otherwise
              note: the layout decides which elements are combined first, so the result depends on it
              help: `where` can choose another result for such values
        "#]],
    );
    check_body("i32", "let r = scan(t, axis: 1, op: |a, b| min(a + b, 7));", expect![]);
    // The smaller of a number and NaN is the number, which then counts twice.
    check_body(
        "f32",
        "let (_, r) = scan((t, t), axis: 1, op: |(a, b), (c, d)| (max(a, c), max(min(a, c), max(b, d))));",
        expect![[r#"
            HX0230 `scan((t, t), axis: 1, op: |(a, b), (c, d)| (max(a, c), max(min(a, c), max(b, d))))` this operator is not associative: of `(nan, 6.0)`, `(6.0, 6.0)` and `(8.0, nan)` it makes `(8.0, 6.0)` if it combines the first two first, and `(8.0, 8.0)` otherwise
              note: the layout decides which elements are combined first, so the result depends on it
              help: no comparison holds for NaN: `isnan(a) || a < b` in place of `a < b` prefers every number to NaN
        "#]],
    );
}

#[test]
fn numbers_of_the_block_are_tried() {
    check_body(
        "i32",
        "let r = scan(t, axis: 1, op: |a, b| a * c + b);",
        expect![[r#"
        HX0230 `scan(t, axis: 1, op: |a, b| a * c + b)` this operator is not associative: of `2`, `1` and `1` it makes `11` if it combines the first two first, and `7` otherwise
          note: this is so if `c` is 2
          note: the layout decides which elements are combined first, so the result depends on it
          help: an operator combines results as it combines elements: change the elements before the reduction, or its result behind it
    "#]],
    );
    check_body(
        "f32",
        "let r = scan(t, axis: 1, op: |a, b| a * s + b);",
        expect![[r#"
        HX0230 `scan(t, axis: 1, op: |a, b| a * s + b)` this operator is not associative: of `2.0`, `1.0` and `1.0` it makes `11.0` if it combines the first two first, and `7.0` otherwise
          note: this is so if `s` is 2
          note: the layout decides which elements are combined first, so the result depends on it
          help: an operator combines results as it combines elements: change the elements before the reduction, or its result behind it
    "#]],
    );
}

/// Rounding, the choice of the first or the last, flags, recurrences, means with their counts, and matrices are associative.
#[test]
fn associative_operators_are_not_told() {
    let right = [
        ("f16", "let r = scan(t, axis: 1, op: |a, b| a + b);"),
        ("bf16", "let r = scan(t, axis: 1, op: |a, b| a * b);"),
        ("f32", "let r = scan(t, axis: 1, op: |a, b| max(a, b));"),
        ("f32", "let r = scan(t, axis: 1, op: |a, b| a + b + a * b);"),
        ("f32", "let r = scan(t, axis: 1, op: |a, b| where(isnan(a) || a < b, b, a));"),
        ("f32", "let r = scan(t, axis: 1, op: |a, b| where(a >= b || isnan(b), a, b));"),
        ("f32", "let r = scan(t, axis: 1, op: |_a, b| b);"),
        ("f32", "let r = scan(t, axis: 1, op: |a, b| where(abs(a) >= abs(b) || isnan(b), a, b));"),
        ("f32", "let r = scan(t, axis: 1, op: |a, b| log(exp(a) + exp(b)));"),
        ("f32", "let r = scan(t, axis: 1, op: |a, b| sqrt(a * a + b * b));"),
        ("i32", "let r = scan(t, axis: 1, op: |a, b| where(a < b, b, a));"),
        ("i32", "let r = scan(t, axis: 1, op: |a, b| a ^ b);"),
        ("u32", "let r = scan(t, axis: 1, op: |a, b| min(a + b, 255));"),
        ("i32", "let r = scan(t, axis: 1, op: |a, b| a * b * c);"),
        (
            "f32",
            "let (_, r) = scan((t, t), axis: 1, op: |(p0, h0), (p1, h1)| (p0 * p1, h0 * p1 + h1));",
        ),
        (
            "f32",
            "let (_, r) = scan((t > 1.0, t), axis: 1, op: |(f, a), (g, b)| (f || g, where(g, b, a + b)));",
        ),
        (
            "f32",
            "let (_, r) = scan((index(t, 1), t), axis: 1, op: |(f, a), (g, b)| (max(f, g), where(g > 0, b, a + b)));",
        ),
        (
            "f32",
            "let (r, _) = scan((t, i), axis: 1, op: |(a, i), (b, j)| (where(isnan(a) || a < b, b, a), where(isnan(a) || a < b, j, i)));",
        ),
        // Counts, means, and sums of squares of differences (Chan et al.).
        (
            "f32",
            "let (_, _, r) = scan((t * 0.0 + 1.0, t, t * 0.0), axis: 1, op: |(n, a, v), (m, b, w)| (
        n + m,
        (n * a + m * b) / (n + m),
        v + w + (b - a) * (b - a) * n * m / (n + m),
    ));",
        ),
        // Products of matrices of 2 × 2, which do not commute.
        (
            "f32",
            "let (r, _, _, _) = scan((t, t + 1.0, t - 1.0, t * 2.0), axis: 1, op: |(a, b, c, d), (e, f, g, h)| (
        a * e + b * g,
        a * f + b * h,
        c * e + d * g,
        c * f + d * h,
    ));",
        ),
    ];
    for (dtype, body) in right {
        check_body(dtype, body, expect![""]);
    }
}

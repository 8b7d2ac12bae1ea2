//! Code in doc comments as tests: what it sees, the words behind its fence, and places inside the comment.

use expect_test::expect;

use super::check;

const KERNEL: &str = r#"
kernel double(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, 64), cdiv(n, 64)]
    threads 128
{
    let [bm, bn] = block_idx;
    let r = register_tensor(f16, [64, 64]);
    copy(global_view(x[bm * 64.., bn * 64..], (64, 64) : (n, 1)), r);
    copy(r * 2.0, global_view(y[bm * 64.., bn * 64..], (64, 64) : (n, 1)));
}
"#;

#[test]
fn code_sees_the_items_of_its_file() {
    let text = r#"//! ```hx
//! print(TWO, HALF);
//! ```

use std::math::LOG2E as HALF;

/// The factor.
const TWO = 2;

/// ```hx
/// let x = randn(f16, [64, 70]);
/// let y = empty(f16, [64, 70])
/// double(x, y)
/// assert_close(y, x * TWO, ulp: 1)
/// ```
/// ```hx
/// use std::math::LN2;
/// const FOUR = 2 * TWO;
/// print(FOUR);
/// ```"#;
    check(
        &format!("{text}{KERNEL}"),
        expect![[r#"
            HX0106 `std::math::LOG2E`: nothing uses `HALF`
            | 2 1.4426950408889634
            t.hx::file (line 1): passed
            t.hx::double (line 10): passed
            | 4
            t.hx::double (line 16): passed
        "#]],
    );
}

#[test]
fn failures_and_errors_are_inside_the_comment() {
    let text = r#"
/// — ```hx
/// ```hx
/// let x = randn(f16, [64, 70]);
/// let y = empty(f16, [64, 70]);
/// double(x, y);
/// assert_close(y, x, ulp: 1);
/// ```
/// ```hx
/// let y = doubel(1);
/// ```
/// ```hx
/// let y = (1;
/// ```
/// ```hx
/// double(1, 2);
/// ```"#;
    check(
        &format!("{text}{KERNEL}"),
        expect![[r#"
            HX0101 `doubel`: nothing in scope is called `doubel`
              help: `double` is near in spelling
            HX0001 `;`: found `;` where `)` for the `(` opened before was expected
            t.hx::double (line 9): broken
            t.hx::double (line 12): broken
            t.hx::double (line 3): failed
            HX0612 `assert_close(y, x, ulp: 1)`: 4479 of 4480 elements of f16[64, 70] are not within ulp: 1 of the reference
              at `block_idx`: `bm` = 0, `bn` = 0
              at `copy(global_view(x[bm * 64.., bn * 64..], (64, 64) : (n, 1)), r)`: block [0, 0] reads `x[0..64, 0..64]`, `r` = -1.7255859
              at `copy(r * 2.0, global_view(y[bm * 64.., bn * 64..], (64, 64) : (n, 1)))`: block [0, 0] writes `y[0..64, 0..64]`
              at `r * 2.0`: value -3.4511719
              note: first at [0, 0]: got -3.4511719, expected -1.7255859
              note: worst at [9, 9]: absolute 1.00, relative 1.00, 2046 ulp of f16 (got 1.9980469, expected 0.999023438)
              note: wrong: scattered over 99% of the tensor
              note: all of them are 2 times the reference
              note: [0, 0] was written in block [0, 0] by thread 0 (warp 0), from value 0 of the stored tile in its layout ((32,4),(2,16)):((128,1),(64,4)); the lines show the values that led to it
            t.hx::double (line 15): failed
            HX0603 `1`: found an integer, the parameter `x` is a tensor
              at `f16[m, n]`: declared here
        "#]],
    );
}

#[test]
fn words_behind_the_fence() {
    let text = r#"
/// ```hx,should_fail
/// assert(1 == 2);
/// ```
/// ```hx should_fail
/// assert(1 == 1);
/// ```
/// ```hx should_fail
/// double(1);
/// ```
/// ```hx no_run
/// while true { }
/// ```
/// ```hx no_run
/// double(1);
/// ```
/// ```hx, ignore
/// no code
/// ```
/// ```hx norun
/// ```
/// ```hx
/// ```
/// ```hx
/// kernel same(x: f16[m]) grid [1] threads 32 { copy(x, y); }
/// ```"#;
    check(
        &format!("{text}{KERNEL}"),
        expect![[r#"
        HX0222 `double(1)`: `double` lacks the argument `y`
        HX0222 `double(1)`: `double` lacks the argument `y`
        HX0101 `y`: nothing in scope is called `y`
        t.hx::double (line 8): broken
        t.hx::double (line 14): broken
        t.hx::double (line 24): broken
        t.hx::double (line 2): passed
        t.hx::double (line 5): failed
        HX0614 ````hx should_fail`: the code passes, and its fence says `should_fail`
          help: remove the word, or correct the code
        t.hx::double (line 11): passed
        t.hx::double (line 17): skipped (marked `ignore`)
        t.hx::double (line 20): failed
        HX0614 ````hx norun`: found `norun` behind the fence, which means nothing
          help: expected `no_run`, `should_fail` or `ignore`
        t.hx::double (line 22): passed
    "#]],
    );
}

#[test]
fn code_that_uses_an_item_with_errors_does_not_run() {
    check(
        "/// ```hx\n/// f(1);\n/// ```\n/// ```hx\n/// print(1);\n/// ```\nfn f(x: f32) -> f32 { z }\n",
        expect![[r#"
            HX0106 `x`: nothing uses `x`
            HX0101 `z`: nothing in scope is called `z`
            t.hx::f (line 1): broken
            | 1
            t.hx::f (line 4): passed
        "#]],
    );
}

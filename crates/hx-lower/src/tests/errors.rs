use expect_test::expect;

use super::programs::kernel;
use super::{check, check_instance};
use crate::{CtValue, LaunchFacts};

#[test]
fn what_cannot_be_compiled_yet_says_so() {
    check(
        &kernel(
            "let x = register_tensor(f32, [8, 8]);
            let s = shared_tensor(f32, [8, 8]);
            let p = pipeline(2);
            let y = scan(x, axis: 0, op: |a, b| a + b);
            let g = gather(a, s);
            print(x.T);
            print(..);
            assert(x, 3);
            assert(x);
            copy_async(s, c);
            gemm_async(x, s, s);
            let e = x[0, ..];
            let q = s[new, .., ..];
            let v = x.T + 1.0;
            let r = reduce(x, axis: 0, op: |a, b| a - b);
            let f = 1.0;
            for i in 0..4 { f = 2.0; }
            let one = s[0, 0];
            let w = x + { x = y; 1.0 };",
        ),
        expect![[r#"
            error[HX0204]: expected `f16`, found elements of type `f32`
                          copy_async(s, c);
                                     ^ this is `f32`
                          copy_async(s, c);
                                        - this is `f16`
              fix: convert it with `cast(…, f16)` (`s` → `cast(s, f16)`)
            error[HX0204]: expected integers that name rows, found elements of type `f32`
                          let g = gather(a, s);
                                            ^
            error[HX0203]: expected something that can be printed, found a range
                          print(..);
                                ^^
            error[HX0203]: expected a string, found an integer
                          assert(x, 3);
                                    ^
            error[HX0203]: expected truth values, found elements that are numbers
                          assert(x);
                                 ^
              help: compare them, as in `x != 0.0`
            error[HX0214]: found an element of a shared tensor, expected one of a global tensor
                          let one = s[0, 0];
                                    ^^^^^^^ threads may see different numbers
              help: `scalar(t)` makes a tensor of one element a number of the block: `scalar(load(t[i..i + 1]))`
            error[HX0208]: an assignment inside of an expression cannot be compiled yet
                          let w = x + { x = y; 1.0 };
                                        ^
        "#]],
    );
}

#[test]
fn asynchronous_copies_join_global_and_shared_memory() {
    check(
        &kernel(
            "let x = register_tensor(f16, [BM, BK]);
            let s = shared_tensor(f16, [BM, BK]);
            let p = pipeline(2);
            copy_async(tile(a, [BM, BK])[.., .., bm, bk], x);
            copy_async(s, x);
            copy_async(s, tile(c, [BM, BK])[.., .., bm, bk], multicast: 0);",
        ),
        expect![[r#"
            error[HX0218]: expected one from global to shared memory or back, found `copy_async` from global to register memory
                          copy_async(tile(a, [BM, BK])[.., .., bm, bk], x);
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: `copy` and `load` move values to and from registers, and wait for them
            error[HX0218]: expected one from global to shared memory or back, found `copy_async` from shared to register memory
                          copy_async(s, x);
                          ^^^^^^^^^^^^^^^^
              help: `copy` and `load` move values to and from registers, and wait for them
            error[HX0218]: found `multicast` of a copy from shared to global memory, expected one from global to shared memory
                          copy_async(s, tile(c, [BM, BK])[.., .., bm, bk], multicast: 0);
                                                                                      ^
        "#]],
    );
}

/// The rank of `a` depends on the compile-time number `P`, so types do not compare the shapes of the copy.
#[test]
fn a_conversion_of_a_large_tile_checks_shapes() {
    check(
        "kernel p<P = 2>(x: f32[m], y: mut f16[m, n]) grid [1] threads 128 {
            let s = shared_tensor(f32, [40000]);
            copy(tile(x, [40000])[.., 0], s);
            sync();
            let (a, b) = split(s, P, axis: 0);
            copy(cast(a, f16), tile(y, [1, 20000])[.., .., 0, 0]);
        }",
        expect![[r#"
            error[HX0205]: expected `[1, 20000]`, found the shape `[20000]`
                          copy(cast(a, f16), tile(y, [1, 20000])[.., .., 0, 0]);
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
                          copy(cast(a, f16), tile(y, [1, 20000])[.., .., 0, 0]);
                               ------------ this has the shape `[20000]`
                          copy(cast(a, f16), tile(y, [1, 20000])[.., .., 0, 0]);
                                             --------------------------------- this has the shape `[1, 20000]`
        "#]],
    );
}

#[test]
fn shapes_are_checked_with_numbers() {
    check(
        &kernel(
            "let x = register_tensor(f16, [BM, BK]);
            let y = register_tensor(f16, [BK, BM]);
            copy(x, y);
            let z = register_tensor(f32, [BM, BM]);
            gemm(z, x, y);
            gemm(z, x, y.T);
            copy(x, tile(c, [BM, 8])[.., .., bm, 0]);
            copy(cast(x, f32), tile(c, [BM, BK])[.., .., bm, bk]);",
        ),
        expect![[r#"
            error[HX0204]: expected `f16`, found elements of type `f32`
                          copy(cast(x, f32), tile(c, [BM, BK])[.., .., bm, bk]);
                               ^^^^^^^^^^^^ this is `f32`
                          copy(cast(x, f32), tile(c, [BM, BK])[.., .., bm, bk]);
                                             --------------------------------- this is `f16`
              fix: convert it with `cast(…, f16)` (`cast(x, f32)` → `cast(cast(x, f32), f16)`)
            error[HX0205]: expected `[16, 64]`, found the shape `[64, 16]`
                          copy(x, y);
                          ^^^^^^^^^^
                          copy(x, y);
                               - this has the shape `[64, 16]`
                          copy(x, y);
                                  - this has the shape `[16, 64]`
            error[HX0205]: found N = `16` in `[16, 64]`, expected `64`
                          gemm(z, x, y);
                                     ^ N is `16` here
                          gemm(z, x, y);
                               - N is `64` here
              note: `gemm(c, a, b)` wants `c[M, N]`, `a[M, K]` and `b[N, K]`, or all three with the same mode after them
            error[HX0205]: expected `[64, 8]`, found the shape `[64, 16]`
                          copy(x, tile(c, [BM, 8])[.., .., bm, 0]);
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
                          copy(x, tile(c, [BM, 8])[.., .., bm, 0]);
                               - this has the shape `[64, 16]`
                          copy(x, tile(c, [BM, 8])[.., .., bm, 0]);
                                  ------------------------------- this has the shape `[64, 8]`
        "#]],
    );
    let args = [("BM", CtValue::Int(0)), ("BK", CtValue::Int(-2))];
    check_instance(
        "kernel f<BM = 1, BK = 1>(a: f16[m]) grid [1] threads 32 { let x = register_tensor(f16, [BM, BK]); }",
        &args,
        &LaunchFacts::none(),
        expect![[r#"
            error[HX0205]: found the extent 0, expected a positive one
              kernel f<BM = 1, BK = 1>(a: f16[m]) grid [1] threads 32 { let x = register_tensor(f16, [BM, BK]); }
                                                                                                      ^^
            error[HX0205]: found the extent -2, expected a positive one
              kernel f<BM = 1, BK = 1>(a: f16[m]) grid [1] threads 32 { let x = register_tensor(f16, [BM, BK]); }
                                                                                                          ^^
        "#]],
    );
}

#[test]
fn views_stay_inside() {
    check(
        &kernel(
            "let diagonal = global_view(a, (32) : (k + 1));
            let beyond = global_view(a[0..32, ..], (64, BK) : (k, 1));
            let table = shared_tensor(i32, [64]);
            let half = tile(gather(a, table)[0..40, ..], [16, 16]);
            let behind = a[bm - 1, ..];
            let s = shared_tensor(f16, [4, 4]);
            let over = s[4, ..];
            let maybe = s[bm, ..];
            let long = s[0..8, ..];
            let back = a[8..4, ..];
            let negative = global_view(a, (4) : (0 - 1));",
        ),
        expect![[r#"
            error[HX0211]: found the index `4`, expected one below `4`
                          let over = s[4, ..];
                                       ^
            error[HX0210]: the mode `32 : k + 1` follows no dimension of `a`
              let diagonal = global_view(a, (32) : (k + 1));
                                            ^^^^^^^^^^^^^^
              let diagonal = global_view(a, (32) : (k + 1));
                                         - the strides of the buffer are `[k, 1]`
              help: let the stride of each mode be a constant multiple of one of the buffer's strides
            error[HX0210]: cannot prove that this stays inside of its part of `a`
                          let beyond = global_view(a[0..32, ..], (64, BK) : (k, 1));
                                                                 ^^^^^^^^^^^^^^^^^ it reaches `63` where the part has `32`
            error[HX0210]: cannot prove that this stays inside of its part of `a`
                          let half = tile(gather(a, table)[0..40, ..], [16, 16]);
                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ the last tile of 16 may reach past `40`
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                          let maybe = s[bm, ..];
                                        ^^ the index `block_idx.x` may be `4` or more
              help: `if block_idx.x < 4 { … }` around it provides the proof
            error[HX0211]: found the end `8`, expected at most `4`
                          let long = s[0..8, ..];
                                       ^^^^
            error[HX0211]: found the range `8..4`, which ends before it starts
                          let back = a[8..4, ..];
                                       ^^^^
        "#]],
    );
}

/// The indices of a loop that never runs are not checked. This holds for constant bounds and for bounds known from facts about
/// dimensions.
#[test]
fn loops_that_never_run_have_no_bad_index() {
    check(
        &kernel(
            "let s = shared_tensor(f16, [4, 4, 1]);
            for i in 0..4 - 4 {
                copy(load(s[.., .., i]), s[.., .., i + 1]);
            }
            for i in k..k {
                copy(load(s[.., .., i]), s[.., .., 0 - i]);
            }
            #[unroll]
            for i in 3..2 {
                copy(load(s[.., .., i]), s[.., .., i + 8]);
            }
            for i in 0..1 {
                copy(load(s[.., .., i]), s[.., .., i + 1]);
            }",
        ),
        expect![[r#"
            error[HX0211]: found the index `i + 1`, expected one below `1`
                              copy(load(s[.., .., i]), s[.., .., i + 1]);
                                                                 ^^^^^
        "#]],
    );
}

/// A condition on numbers that do not change holds within its branch.
#[test]
fn conditions_keep_an_index_inside() {
    check(
        &kernel(
            "let s = shared_tensor(f16, [4, 4]);
            for i in 0..4 {
                let next = i + 1;
                if next < 4 && bm <= 3 { let inside = s[next, bm..bm + 1]; }
                if next <= 4 { let over = s[next, ..]; }
                let after = s[next, ..];
            }
            let n = 0;
            while n < bm {
                if n < 4 {
                    n = n + 7;
                    let changed = s[n, ..];
                }
            }",
        ),
        expect![[r#"
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                              if next <= 4 { let over = s[next, ..]; }
                                                          ^^^^ the index `i + 1` may be `4` or more
              help: `if i + 1 < 4 { … }` around it provides the proof
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                              let after = s[next, ..];
                                            ^^^^ the index `i + 1` may be `4` or more
              help: `if i + 1 < 4 { … }` around it provides the proof
            error[HX0211]: found the index `n`, expected one below `4`
                                  let changed = s[n, ..];
                                                  ^
        "#]],
    );
}

#[test]
fn tiles_are_of_known_size_and_writable() {
    check(
        &kernel(
            "let x = load(a[bm * BM.., 0..BK]);
            let y = load(tile(a, [BM, BK])[.., .., bm]);
            let r = register_tensor(f16, [8, 8]);
            copy(r, tile(a, [8, 8])[.., .., bm, bk]);
            fill(a, 0.0);
            let z = register_tensor(f16, [m]);",
        ),
        expect![[r#"
            error[HX0209]: expected a compile-time value, found `m - block_idx.x * BM`, which is known only at launch
              let x = load(a[bm * BM.., 0..BK]);
                           ^^^^^^^^^^^^^^^^^^^
              help: numbers, constants and compile-time parameters are known at compile time
            error[HX0209]: expected a compile-time value, found `(k + BK - 1) / BK`, which is known only at launch
                          let y = load(tile(a, [BM, BK])[.., .., bm]);
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
                          let y = load(tile(a, [BM, BK])[.., .., bm]);
                                       ----------------- this has 4 modes, `[BM, BK, (m + BM - 1) / BM, (k + BK - 1) / BK]`, and 3 indices are given
              help: a mode without an index stays whole: an integer in its place drops it, as in `t[.., i]`
            error[HX0207]: `a` is written, but it is not marked `mut`
                          copy(r, tile(a, [8, 8])[.., .., bm, bk]);
                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              kernel probe<BM = 64, BK = 16>(a: f16[m, k], c: mut f16[m, k])
                                                --------- declared here
              fix: mark `a` as `mut` (`` → `mut `)
            error[HX0207]: `a` is written, but it is not marked `mut`
                          fill(a, 0.0);
                               ^
              kernel probe<BM = 64, BK = 16>(a: f16[m, k], c: mut f16[m, k])
                                                --------- declared here
              fix: mark `a` as `mut` (`` → `mut `)
            error[HX0209]: expected a compile-time value, found `m`, which is known only at launch
                          let z = register_tensor(f16, [m]);
                                                        ^
              help: numbers, constants and compile-time parameters are known at compile time
            kernel probe threads 128
              grid [(m + 63) / 64, k / 16]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
        "#]],
    );
}

#[test]
fn indices_of_layouts_fit_64_bits() {
    check(
        &kernel("let _s = shared_tensor(f16, [4, 4], layout: (4, 4) : (4611686018427387904, 1));"),
        expect![[r#"
            error[HX0217]: the numbers of this layout are too large: the largest index of the layout does not fit 64 bits
              let _s = shared_tensor(f16, [4, 4], layout: (4, 4) : (4611686018427387904, 1));
                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn headers_are_checked_with_numbers() {
    let text = "kernel f<T = 100, K = 8>(a: f16[m]) where K % 3 == 0 grid [1] threads T { }";
    check(
        text,
        expect![[r#"
        error[HX0601]: `K % 3 == 0` does not hold for this instance
          kernel f<T = 100, K = 8>(a: f16[m]) where K % 3 == 0 grid [1] threads T { }
                                                    ^^^^^^^^^^
          help: choose other compile-time arguments
    "#]],
    );
    check_instance(
        text,
        &[("K", CtValue::Int(9))],
        &LaunchFacts::none(),
        expect![[r#"
            error[HX0506]: found 100 threads, expected a multiple of 32
              kernel f<T = 100, K = 8>(a: f16[m]) where K % 3 == 0 grid [1] threads T { }
                                                                                    ^
        "#]],
    );
    check_instance(
        text,
        &[("J", CtValue::Int(9))],
        &LaunchFacts::none(),
        expect![[r#"
        error[HX0202]: the kernel has no compile-time parameter `J`
          kernel f<T = 100, K = 8>(a: f16[m]) where K % 3 == 0 grid [1] threads T { }
                 ^
    "#]],
    );
    check(
        "kernel f<T>(a: f16[m]) grid [1] threads T { }",
        expect![[r#"
        error[HX0622]: the compile-time parameter `T` has no value
          kernel f<T>(a: f16[m]) grid [1] threads T { }
                   ^
    "#]],
    );
    check(
        "kernel f(a: f16[m]) grid [1] threads m { }",
        expect![[r#"
            error[HX0209]: expected a compile-time value, found `m`, which is known only at launch
              kernel f(a: f16[m]) grid [1] threads m { }
                                                   ^
              help: numbers, constants and compile-time parameters are known at compile time
        "#]],
    );
    check(
        "kernel f(a: f16[m]) grid [m, m, m, m] threads 2048 { }",
        expect![[r#"
            error[HX0220]: found 4 axes, expected 1 to 3
              kernel f(a: f16[m]) grid [m, m, m, m] threads 2048 { }
                                       ^^^^^^^^^^^^
            error[HX0502]: found 2048 threads, expected at most 1024
              kernel f(a: f16[m]) grid [m, m, m, m] threads 2048 { }
                                                            ^^^^
              fix: replace it by `1024` (`2048` → `1024`)
        "#]],
    );
    check(
        "kernel f<W: layout = (8, 2) : (1, 16)>(a: f16[m, k] : W) grid [1] threads 32 { }",
        expect![[r#"
            error[HX0304]: the block `(8,2):(1,16)` has 16 elements in 24 places, expected each in one of its own and none left over
              kernel f<W: layout = (8, 2) : (1, 16)>(a: f16[m, k] : W) grid [1] threads 32 { }
                                                                    ^
        "#]],
    );
    check(
        "kernel f<W: layout = (8, 2) : (1, 8)>(a: f16[12, k] : W) grid [1] threads 32 { }",
        expect![[r#"
            error[HX0205]: found the extent `12`, expected a multiple of 8, that of the block `(8,2):(1,8)`
              kernel f<W: layout = (8, 2) : (1, 8)>(a: f16[12, k] : W) grid [1] threads 32 { }
                                                                    ^
        "#]],
    );
    check(
        "kernel f<W: layout = (8, 2) : (1, 8)>(a: f16[m] : W) grid [1] threads 32 { }",
        expect![[r#"
            error[HX0206]: found the layout `(8,2):(1,8)` of rank 2, expected rank 1: a mode for each dimension
              kernel f<W: layout = (8, 2) : (1, 8)>(a: f16[m] : W) grid [1] threads 32 { }
                                                                ^
        "#]],
    );
    check(
        "kernel f<W: layout = (8, 8) : (8, 1)>(a: f16[m, k] : W, b: mut f16[m, k]) grid [1] threads 32 {
            let r = register_tensor(f16, [8, 8]);
            copy(global_view(a, (8, 8) : (k, 1)), r);
            copy(r, b);
        }",
        expect![[r#"
            error[HX0210]: `a` lies in memory in blocks, which strides do not describe
                          copy(global_view(a, (8, 8) : (k, 1)), r);
                                              ^^^^^^^^^^^^^^^
              help: `tile(a, …)` and indices work on any layout
            error[HX0205]: expected `[m, k]`, found the shape `[8, 8]`
                          copy(r, b);
                          ^^^^^^^^^^
                          copy(r, b);
                               - this has the shape `[8, 8]`
                          copy(r, b);
                                  - this has the shape `[m, k]`
        "#]],
    );
}

#[test]
fn errors_in_functions_show_their_calls() {
    check(
        "fn outer(x: register mut f32[R]) { inner(x); }
        fn inner(x: register mut f32[R]) where R % 16 == 0 { let y = x + 1.0; fill(y, 0.0); }
        kernel f(a: f16[m]) grid [1] threads 32 {
            outer(register_tensor(f32, [16]));
            inner(register_tensor(f32, [8]));
            inner(register_tensor(f16, [16]));
        }",
        expect![[r#"
            error[HX0204]: expected `f32`, found elements of type `f16`
                          inner(register_tensor(f16, [16]));
                                ^^^^^^^^^^^^^^^^^^^^^^^^^^
            error[HX0217]: `R % 16 == 0` is not known to hold here: it is `false`
                      fn inner(x: register mut f32[R]) where R % 16 == 0 { let y = x + 1.0; fill(y, 0.0); }
                                                             ^^^^^^^^^^^
                          inner(register_tensor(f32, [8]));
                          -------------------------------- called from here
        "#]],
    );
}

#[test]
fn parts_scans_and_sums_say_what_is_wrong() {
    check(
        "kernel probe(a: f16[m, k], c: mut f16[m, k], t: f32[m], r: mut i32[m], q: i8[m])
         grid [cdiv(m, 64)] threads 128 {
            let x = load(tile(a, [64, 64])[.., .., block_idx, 0]);
            let one = x[0, 0];
            for i in 0..k { let y = x[.., i..i + 1]; }
            let s = scalar(x);
            let z = scan(x, axis: 1, op: x);
            let (p, v) = scan((x, x), axis: 1, op: |(a0, b0), (a1, b1)| a0);
            let w = scan(x, axis: 1, op: |a, b| if a > b { a } else { b });
            let n = scan((x, x[.., 0..8]), axis: 1, op: |(a0, b0), (a1, b1)| (a0, b0));
            atomic_add(tile(c, [64, 64])[.., .., block_idx, 0], cast(x, f32));
            atomic_add(tile(a, [64, 64])[.., .., block_idx, 0], x);
            let g = gather(a, t);
            let h = gather(a, r);
            let j = gather(x, q);
            let e = exp2(m);
            let number = 0.0;
            while number < t[0] { number = cast(1.0, f16); }
        }",
        expect![[r#"
            error[HX0204]: expected `f16`, found elements of type `f32`
                          atomic_add(tile(c, [64, 64])[.., .., block_idx, 0], cast(x, f32));
                                                                              ^^^^^^^^^^^^ this is `f32`
                          atomic_add(tile(c, [64, 64])[.., .., block_idx, 0], cast(x, f32));
                                     --------------------------------------- this is `f16`
              fix: convert it with `cast(…, f16)` (`cast(x, f32)` → `cast(cast(x, f32), f16)`)
            error[HX0207]: `a` is written, but it is not marked `mut`
                          atomic_add(tile(a, [64, 64])[.., .., block_idx, 0], x);
                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              kernel probe(a: f16[m, k], c: mut f16[m, k], t: f32[m], r: mut i32[m], q: i8[m])
                              --------- declared here
              fix: mark `a` as `mut` (`` → `mut `)
            error[HX0215]: found a register tensor, expected a global one for `gather`
                          let j = gather(x, q);
                                         ^
            error[HX0214]: found one element of the register tensor `x`, which one thread has
                          let one = x[0, 0];
                                    ^^^^^^^
              help: `scalar(…)` makes the only element of a part such as `x[0..1, 0..1]` a number of the block
            error[HX0219]: found `i`, which is known only at run time, as an index of a register tensor
                          for i in 0..k { let y = x[.., i..i + 1]; }
                                                        ^^^^^^^^
              help: `#[unroll]` makes the counter of a loop with constant bounds a constant
            error[HX0205]: found a tensor of shape `[64, 64]`, expected one element for `scalar`
                          let s = scalar(x);
                                         ^
            error[HX0203]: expected an operator, as in `|a, b| a + b`
                          let z = scan(x, axis: 1, op: x);
                                                       ^
            error[HX0223]: found 1 values, expected 2 from the operator
                          let (p, v) = scan((x, x), axis: 1, op: |(a0, b0), (a1, b1)| a0);
                                                                                      ^^
            error[HX0203]: found an operator that depends on more than its operands and numbers of the block
                          let w = scan(x, axis: 1, op: |a, b| if a > b { a } else { b });
                                                              ^^^^^^^^^^^^^^^^^^^^^^^^^
              help: choose with `where(condition, x, y)`
            error[HX0205]: expected `[64, 64]` as of the first, found the shape `[64, 8]`
                          let n = scan((x, x[.., 0..8]), axis: 1, op: |(a0, b0), (a1, b1)| (a0, b0));
                                           ^^^^^^^^^^^
            error[HX0204]: expected integers that name rows, found elements of type `f32`
                          let g = gather(a, t);
                                            ^
            error[HX0214]: `r` names rows, but the kernel may write it
                          let h = gather(a, r);
                                            ^
              help: pass `r` without `mut`
            error[HX0203]: expected a float for `exp2`, found a run-time integer
                          let e = exp2(m);
                                       ^
              help: `cast(…, f32)` converts a number
            error[HX0204]: expected `f32`, found a number of type `f16`
                          while number < t[0] { number = cast(1.0, f16); }
                                                         ^^^^^^^^^^^^^^
              help: `cast(…, f32)` converts
        "#]],
    );
}

#[test]
fn numbers_that_do_not_fit_their_type() {
    check(
        "fn small(a: i8) -> i8 { a + a }
        kernel f(x: i32[n], t: i8[n], d: i32, e: i16, u: u64, y: mut i32[n]) grid [1] threads 32 {
            let a: i8 = 300;
            let b: u8 = -1;
            let c: i8 = d;
            let p = d + e;
            let q = e == 40000;
            let s = small(200);
            let r = small(d);
            let m: i32 = n;
            let z = load(x[..32]) / 0;
            let w = d % 0;
            let v = x[u..u + 1];
            d + n;
        }",
        expect![[r#"
            error[HX0216]: found 300, which `i8` cannot hold
                          let a: i8 = 300;
                                      ^^^
            error[HX0216]: found -1, which `u8` cannot hold
                          let b: u8 = -1;
                                      ^^
            error[HX0217]: division by zero
                          let w = d % 0;
                                      ^
            error[HX0204]: expected `i8`, found a number of type `i32`
                          let c: i8 = d;
                                      ^
              help: `cast(…, i8)` converts
            error[HX0204]: expected `i32`, found a number of type `i16`
                          let p = d + e;
                                      ^ this is `i16`
                          let p = d + e;
                                  - this is `i32`
              help: `cast(…, i32)` converts
            error[HX0216]: found 40000, which `i16` cannot hold
                          let q = e == 40000;
                                       ^^^^^
            error[HX0216]: found 200 for `a`, which `i8` cannot hold
                          let s = small(200);
                                        ^^^
              fn small(a: i8) -> i8 { a + a }
                 ----- the function is here
            error[HX0204]: found a number of type `i32` for `a`, expected `i8`: `cast(…, i8)` converts
                          let r = small(d);
                                        ^
              fn small(a: i8) -> i8 { a + a }
                 ----- the function is here
            error[HX0217]: division by zero
                          let z = load(x[..32]) / 0;
                                                  ^
            error[HX0203]: expected an `i64` or a narrower integer, found a number of type `u64`
                          let v = x[u..u + 1];
                                    ^
              help: `cast(…, i64)` converts
        "#]],
    );
}

#[test]
fn an_index_of_an_expression_is_one_of_a_tensor() {
    check(
        "kernel k(x: f32[32, 1], y: mut f32[32]) grid [1] threads 32 {
            copy((load(x) * 2.0)[.., 0], y);
            copy(exp(load(x))[.., 0], y);
        }",
        expect![[r#"
            kernel k threads 32
              grid [1]
              param x: f32[32, 1] : [1, 1] align 16
              param y: mut f32[32] : [1] align 16
              register x_tile: f32[32, 1]
              register value: f32[32, 1]
              register value_part: f32[32]
              register x_tile_1: f32[32, 1]
              register value_1: f32[32, 1]
              register value_1_part: f32[32]
              #0 copy(x[0..32, 0..1], x_tile)
              #1 value = (x_tile * 2.0)
              #2 value_part = value[.., 0]
              #3 copy(value_part, y[0..32])
              #4 copy(x[0..32, 0..1], x_tile_1)
              #5 value_1 = exp(x_tile_1)
              #6 value_1_part = value_1[.., 0]
              #7 copy(value_1_part, y[0..32])
        "#]],
    );
}

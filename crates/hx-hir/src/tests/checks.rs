use expect_test::expect;

use super::{check, kernel};

#[test]
fn arguments_of_primitives() {
    check(
        &kernel(
            "let r = register_tensor(f16, [64, 16], layot: auto);\ncopy(a, c, r);\nfill(r);\nsync(1);\ncopy(a, dst: c, dst: c);",
        ),
        expect![[r#"
            error[HX0202]: `register_tensor` has no parameter `layot`
              let r = register_tensor(f16, [64, 16], layot: auto);
                                                     ^^^^^
              note: `register_tensor(dtype, shape, layout: …)`
              help: `layout` is near in spelling
              fix: replace it by `layout` (`layot` → `layout`)
            error[HX0201]: expected 2, found 3 arguments
              copy(a, c, r);
                         ^ `copy` takes 2 arguments
              note: `copy(src, dst, l1: …, l2: …, by: …)`
            error[HX0222]: `fill` lacks the argument `x`
              fill(r);
              ^^^^^^^
              note: `fill(t, x)`
            error[HX0201]: expected 0, found 1 argument
              sync(1);
                   ^ `sync` takes 0 arguments
              note: `sync()`
            error[HX0212]: an argument is given twice
              copy(a, dst: c, dst: c);
                              ^^^
              copy(a, dst: c, dst: c);
                      --- given here first
              note: `copy(src, dst, l1: …, l2: …, by: …)`
        "#]],
    );
}

#[test]
fn an_index_that_leaves_modes_out_shows_the_tensor() {
    check(
        &kernel(
            "let t = tile(a, [BM, BK]);\nlet x = load(t[.., 0]);\nlet v = t[.., ..];\nlet w = load(v);\nlet r = register_tensor(f16, [BM, BK]);\ncopy(r, tile(c, [BM, BK])[.., .., 0]);\nlet y = t[0, 0, 0, 0, 0];",
        ),
        expect![[r#"
            warning[HX0106]: nothing uses `x`
              let x = load(t[.., 0]);
                  ^
              fix: rename it to `_x` (`x` → `_x`)
            error[HX0209]: expected a compile-time value, found `(m + BM - 1) / BM`, which is known only at launch
              let x = load(t[.., 0]);
                           ^^^^^^^^
              let x = load(t[.., 0]);
                           - this has 4 modes, `[BM, BK, (m + BM - 1) / BM, (k + BK - 1) / BK]`, and 2 indices are given
              let t = tile(a, [BM, BK]);
                      ----------------- made here
              help: a mode without an index stays whole: an integer in its place drops it, as in `t[.., i]`
            warning[HX0106]: nothing uses `w`
              let w = load(v);
                  ^
              fix: rename it to `_w` (`w` → `_w`)
            error[HX0209]: expected a compile-time value, found `(m + BM - 1) / BM`, which is known only at launch
              let w = load(v);
                           ^
              let v = t[.., ..];
                      - this has 4 modes, `[BM, BK, (m + BM - 1) / BM, (k + BK - 1) / BK]`, and 2 indices are given
              let t = tile(a, [BM, BK]);
                      ----------------- made here
              help: a mode without an index stays whole: an integer in its place drops it, as in `t[.., i]`
            error[HX0205]: expected `[BM, BK, (k + BK - 1) / BK]`, found the shape `[BM, BK]`
              copy(r, tile(c, [BM, BK])[.., .., 0]);
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              copy(r, tile(c, [BM, BK])[.., .., 0]);
                   - this has the shape `[BM, BK]`
              copy(r, tile(c, [BM, BK])[.., .., 0]);
                      ---------------------------- this has the shape `[BM, BK, (k + BK - 1) / BK]`
              copy(r, tile(c, [BM, BK])[.., .., 0]);
                      ----------------- this has 4 modes, `[BM, BK, (m + BM - 1) / BM, (k + BK - 1) / BK]`, and 3 indices are given
              help: a mode without an index stays whole: an integer in its place drops it, as in `t[.., i]`
            warning[HX0106]: nothing uses `y`
              let y = t[0, 0, 0, 0, 0];
                  ^
              fix: rename it to `_y` (`y` → `_y`)
            error[HX0206]: found 5 indices, expected at most 4
              let y = t[0, 0, 0, 0, 0];
                      ^^^^^^^^^^^^^^^^
              let y = t[0, 0, 0, 0, 0];
                      - this has the shape `[BM, BK, (m + BM - 1) / BM, (k + BK - 1) / BK]`
              let t = tile(a, [BM, BK]);
                      ----------------- made here
        "#]],
    );
}

#[test]
fn what_new_modes_would_broadcast_is_offered() {
    check(
        &kernel(
            "let t = register_tensor(f32, [64, 32]);\nlet b = register_tensor(f32, [32]);\nlet c = register_tensor(f32, [64]);\nlet s = t + b * 2.0;\nlet u = t * c;\nlet q = register_tensor(f32, [32, 32]);\nlet m = max(b, q);\nlet n = t + register_tensor(f32, [16]);",
        ),
        expect![[r#"
            warning[HX0106]: nothing uses `s`
              let s = t + b * 2.0;
                  ^
              fix: rename it to `_s` (`s` → `_s`)
            error[HX0205]: expected `[32]`, found the shape `[64, 32]`
              let s = t + b * 2.0;
                      ^^^^^^^^^^^
              let s = t + b * 2.0;
                      - this has the shape `[64, 32]`
              let s = t + b * 2.0;
                          ------- this has the shape `[32]`
              help: shapes are broadcast along modes of extent 1, and `new` in an index makes one
            warning[HX0106]: nothing uses `u`
              let u = t * c;
                  ^
              fix: rename it to `_u` (`u` → `_u`)
            error[HX0205]: expected `[64]`, found the shape `[64, 32]`
              let u = t * c;
                      ^^^^^
              let u = t * c;
                      - this has the shape `[64, 32]`
              let u = t * c;
                          - this has the shape `[64]`
              help: shapes are broadcast along modes of extent 1, and `new` in an index makes one
              fix: broadcast it as `c[.., new]` (`` → `[.., new]`)
            warning[HX0106]: nothing uses `m`
              let m = max(b, q);
                  ^
              fix: rename it to `_m` (`m` → `_m`)
            error[HX0205]: expected `[32, 32]`, found the shape `[32]`
              let m = max(b, q);
                      ^^^^^^^^^
              let m = max(b, q);
                          - this has the shape `[32]`
              let m = max(b, q);
                             - this has the shape `[32, 32]`
              help: shapes are broadcast along modes of extent 1, and `new` in an index makes one
              fix: broadcast it as `b[new, ..]` (`` → `[new, ..]`)
              fix: broadcast it as `b[.., new]` (`` → `[.., new]`)
            warning[HX0106]: nothing uses `n`
              let n = t + register_tensor(f32, [16]);
                  ^
              fix: rename it to `_n` (`n` → `_n`)
            error[HX0205]: expected `[16]`, found the shape `[64, 32]`
              let n = t + register_tensor(f32, [16]);
                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              let n = t + register_tensor(f32, [16]);
                      - this has the shape `[64, 32]`
              let n = t + register_tensor(f32, [16]);
                          -------------------------- this has the shape `[16]`
        "#]],
    );
}

#[test]
fn numbers_that_a_float_type_has_not() {
    check(
        &kernel(
            "let t = register_tensor(f16, [64]);\nfill(t, 70000.0);\nlet x = t + 1e39;\nlet y = t > -65520;\nlet z = t * 65519.0 + inf;",
        ),
        expect![[r#"
            error[HX0216]: found 70000.0, which `f16` cannot hold
              fill(t, 70000.0);
                      ^^^^^^^
              help: `inf` is infinity, and `cast(x, T)` rounds to what the type has
            warning[HX0106]: nothing uses `x`
              let x = t + 1e39;
                  ^
              fix: rename it to `_x` (`x` → `_x`)
            error[HX0216]: found 1e39, which `f16` cannot hold
              let x = t + 1e39;
                          ^^^^
              help: `inf` is infinity, and `cast(x, T)` rounds to what the type has
            warning[HX0106]: nothing uses `y`
              let y = t > -65520;
                  ^
              fix: rename it to `_y` (`y` → `_y`)
            error[HX0216]: found -65520, which `f16` cannot hold
              let y = t > -65520;
                          ^^^^^^
              help: `inf` is infinity, and `cast(x, T)` rounds to what the type has
            warning[HX0106]: nothing uses `z`
              let z = t * 65519.0 + inf;
                  ^
              fix: rename it to `_z` (`z` → `_z`)
        "#]],
    );
    check(
        "const A: f32 = 1e39;\nconst B: bf16 = -3e38;\nconst C: f8e4m3 = 500.0;\n",
        expect![[r#"
        error[HX0216]: found 1e39, which `f32` cannot hold
          const A: f32 = 1e39;
                         ^^^^
          help: `inf` is infinity, and `cast(x, T)` rounds to what the type has
        error[HX0216]: found 500.0, which `f8e4m3` cannot hold
          const C: f8e4m3 = 500.0;
                            ^^^^^
          help: `inf` is infinity, and `cast(x, T)` rounds to what the type has
    "#]],
    );
}

#[test]
fn compile_time_arguments_have_names() {
    check(
        "kernel k<BM = 64, T: type>(x: T[m]) grid [1] threads 32 { }
kernel none(x: f32[m]) grid [1] threads 32 { }
main {
    k<32, f16>(1);
    let r = k<32>(1);
    none<3>(1);
    print<3>(1);
}
",
        expect![[r#"
            error[HX0202]: expected `NAME = value`, found a compile-time argument without a name
                  k<32, f16>(1);
                    ^^
              help: the names belong to the call: `k<BM = …, T = …>(…)`
              fix: name them (`` → `BM = `, `` → `T = `)
            error[HX0202]: expected `NAME = value`, found a compile-time argument without a name
                  k<32, f16>(1);
                        ^^^
              help: the names belong to the call: `k<BM = …, T = …>(…)`
              fix: name them (`` → `BM = `, `` → `T = `)
            warning[HX0106]: nothing uses `r`
                  let r = k<32>(1);
                      ^
              fix: rename it to `_r` (`r` → `_r`)
            error[HX0202]: expected `NAME = value`, found a compile-time argument without a name
                  let r = k<32>(1);
                            ^^
              help: the names belong to the call: `k<BM = …, T = …>(…)`
              fix: name it `BM` (`` → `BM = `)
            error[HX0202]: expected `NAME = value`, found a compile-time argument without a name
                  none<3>(1);
                       ^
              help: `none` has no compile-time parameters
            error[HX0202]: expected `NAME = value`, found a compile-time argument without a name
                  print<3>(1);
                        ^
              help: `print` has no compile-time parameters
        "#]],
    );
}

#[test]
fn a_compile_time_argument_has_one_value() {
    check(
        "kernel k<BM = 64>(x: f32[m]) grid [1] threads 32 { }
fn f<N = 4>(x: register f32[M]) -> f32[M] { x }
kernel g(x: f32[m]) grid [1] threads 32 { let _y = f<N = 1, N = 2>(register_tensor(f32, [8])); }
main { k<BM = 32, BM = 64, BM = 32>(1); }
",
        expect![[r#"
            error[HX0212]: the compile-time argument `N` is given twice
              kernel g(x: f32[m]) grid [1] threads 32 { let _y = f<N = 1, N = 2>(register_tensor(f32, [8])); }
                                                                          ^
              kernel g(x: f32[m]) grid [1] threads 32 { let _y = f<N = 1, N = 2>(register_tensor(f32, [8])); }
                                                                   - given here first
            error[HX0212]: the compile-time argument `BM` is given twice
              main { k<BM = 32, BM = 64, BM = 32>(1); }
                                ^^
              main { k<BM = 32, BM = 64, BM = 32>(1); }
                       -- given here first
            error[HX0212]: the compile-time argument `BM` is given twice
              main { k<BM = 32, BM = 64, BM = 32>(1); }
                                         ^^
              main { k<BM = 32, BM = 64, BM = 32>(1); }
                       -- given here first
        "#]],
    );
}

#[test]
fn copies_want_equal_tiles() {
    check(
        &kernel(
            "let r = register_tensor(f16, [64, 16]);\nlet q = register_tensor(f32, [64, 8]);\ncopy(r, q);\nq = r;",
        ),
        expect![[r#"
            error[HX0205]: expected `[64, 8]`, found the shape `[64, 16]`
              copy(r, q);
              ^^^^^^^^^^
              copy(r, q);
                   - this has the shape `[64, 16]`
              copy(r, q);
                      - this has the shape `[64, 8]`
            error[HX0204]: expected `f32`, found elements of type `f16`
              copy(r, q);
                   ^ this is `f16`
              copy(r, q);
                      - this is `f32`
              fix: convert it with `cast(…, f32)` (`r` → `cast(r, f32)`)
            error[HX0204]: expected `f32`, found elements of type `f16`
              q = r;
                  ^ this is `f16`
              q = r;
              - this is `f32`
              fix: convert it with `cast(…, f32)` (`r` → `cast(r, f32)`)
            error[HX0205]: expected `[64, 8]`, found the shape `[64, 16]`
              q = r;
                  ^
              q = r;
                  - this has the shape `[64, 16]`
              q = r;
              - this has the shape `[64, 8]`
        "#]],
    );
}

#[test]
fn gemm_wants_its_shapes() {
    check(
        &kernel(
            "let x = register_tensor(f16, [64, 16]);\nlet y = register_tensor(f16, [16, 32]);\nlet z = register_tensor(f32, [64, 32]);\n\
             gemm(z, x, y);\ngemm(z, x, y.T);\ngemm(x, z);\ngemm(z, x, cast(y.T, bf16));\ngemm(z, a, y.T);",
        ),
        expect![[r#"
            error[HX0205]: expected `32`, found N = `16`
              gemm(z, x, y);
                         ^ N is `16` here
              gemm(z, x, y);
                   - N is `32` here
              note: `gemm(c, a, b)` wants `c[M, N]`, `a[M, K]` and `b[N, K]`, or all three with the same mode after them
            error[HX0222]: `gemm` lacks the argument `b`
              gemm(x, z);
              ^^^^^^^^^^
              note: `gemm(c, a, b, warps: …, by: …)`
            error[HX0204]: expected `f16`, found elements of type `bf16`
              gemm(z, x, cast(y.T, bf16));
                         ^^^^^^^^^^^^^^^ this is `bf16`
              gemm(z, x, cast(y.T, bf16));
                      - this is `f16`
              fix: convert it with `cast(…, f16)` (`cast(y.T, bf16)` → `cast(cast(y.T, bf16), f16)`)
            error[HX0215]: found a global tensor, expected a register or shared one for `gemm`
              gemm(z, a, y.T);
                      ^
              help: `load` moves a tile of known extents into registers: `load(tile(x, [64, 64])[.., .., i, j])`
        "#]],
    );
}

#[test]
fn elementwise_operations() {
    check(
        &kernel(
            "let x = register_tensor(f32, [64, 16]);\nlet y = register_tensor(f32, [64, 8]);\nlet _p = x + y;\n\
             let _q = x * register_tensor(f16, [64, 16]);\nlet _r = tile(a, [64, 16])[.., .., 0, 0] * 2.0;\nlet _s = x @ y;\nlet _t = x + \"a\";",
        ),
        expect![[r#"
            error[HX0205]: expected `[64, 8]`, found the shape `[64, 16]`
              let _p = x + y;
                       ^^^^^
              let _p = x + y;
                       - this has the shape `[64, 16]`
              let _p = x + y;
                           - this has the shape `[64, 8]`
            error[HX0204]: expected `f32`, found elements of type `f16`
              let _q = x * register_tensor(f16, [64, 16]);
                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this is `f16`
              let _q = x * register_tensor(f16, [64, 16]);
                       - this is `f32`
              fix: convert it with `cast(…, f32)` (`register_tensor(f16, [64, 16])` → `cast(register_tensor(f16, [64, 16]), f32)`)
            error[HX0215]: found a global tensor, expected a register one for `*`
              let _r = tile(a, [64, 16])[.., .., 0, 0] * 2.0;
                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              fix: move it into registers with `load(…)` (`tile(a, [64, 16])[.., .., 0, 0]` → `load(tile(a, [64, 16])[.., .., 0, 0])`)
            error[HX0218]: `@` has no meaning between a register tensor and a register tensor
              let _s = x @ y;
                       ^^^^^
            error[HX0218]: `+` has no meaning between a register tensor and a string
              let _t = x + "a";
                       ^^^^^^^
        "#]],
    );
}

#[test]
fn what_is_not_mut_stays() {
    check(
        &kernel("copy(load(tile(c, [8, 8])[.., .., 0, 0]), tile(a, [8, 8])[.., .., 0, 0]);"),
        expect![[r#"
            error[HX0207]: `a` is written, but it is not marked `mut`
              copy(load(tile(c, [8, 8])[.., .., 0, 0]), tile(a, [8, 8])[.., .., 0, 0]);
                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              kernel probe<BM = 64, BK = 16>(a: f16[m, k], c: mut f16[m, k], e: i32[m], s: f32)
                                                --------- declared here
              fix: mark `a` as `mut` (`` → `mut `)
        "#]],
    );
    check(
        &kernel(
            "copy(load(tile(a, [8, 8])[.., .., 0, 0]), tile(gather(c, tile(e, [8])[.., 0]), [8, 8])[.., .., 0, 0]);",
        ),
        expect![[r#"
            error[HX0207]: rows that `gather` picks of `c` are written, but they may only be read
              copy(load(tile(a, [8, 8])[.., .., 0, 0]), tile(gather(c, tile(e, [8])[.., 0]), [8, 8])[.., .., 0, 0]);
                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: `scatter(c, …)` picks what is written of a `mut` tensor
        "#]],
    );
    check(
        "fn clear(x: register f32[M], s: shared f32[M]) { fill(x, 0.0); fill(s, 0.0); }\n",
        expect![[r#"
        error[HX0207]: `x` is written, but it is not marked `mut`
          fn clear(x: register f32[M], s: shared f32[M]) { fill(x, 0.0); fill(s, 0.0); }
                                                                ^
          fn clear(x: register f32[M], s: shared f32[M]) { fill(x, 0.0); fill(s, 0.0); }
                      --------------- declared here
          fix: mark `x` as `mut` (`` → `mut `)
        error[HX0207]: `s` is written, but it is not marked `mut`
          fn clear(x: register f32[M], s: shared f32[M]) { fill(x, 0.0); fill(s, 0.0); }
                                                                              ^
          fn clear(x: register f32[M], s: shared f32[M]) { fill(x, 0.0); fill(s, 0.0); }
                                          ------------- declared here
          fix: mark `s` as `mut` (`` → `mut `)
    "#]],
    );
}

#[test]
fn indices_and_ranks() {
    check(
        &kernel(
            "let t = tile(c, [8, 8]);\nlet _a = t[0, 0, 0, 0, 0];\nlet _b = t[8];\nlet _c = t[-1];\nlet _d = t[1.5];\nlet _e = e.T;\n\
             let _f = c.transpose;\nlet _g = tile(c, [8]);\nlet [_x, _y, _z] = block_idx;\nlet (_u, _v) = 3;",
        ),
        expect![[r#"
            error[HX0206]: found 5 indices, expected at most 4
              let _a = t[0, 0, 0, 0, 0];
                       ^^^^^^^^^^^^^^^^
              let _a = t[0, 0, 0, 0, 0];
                       - this has the shape `[8, 8, (m + 7) / 8, (k + 7) / 8]`
              let t = tile(c, [8, 8]);
                      --------------- made here
            error[HX0211]: found the index `8`, expected one below `8`
              let _b = t[8];
                         ^
            error[HX0211]: found the index `-1`, expected one of 0 or more
              let _c = t[-1];
                         ^^
            error[HX0203]: expected an integer or a range, found a floating-point number
              let _d = t[1.5];
                         ^^^
            error[HX0206]: expected at least 2 modes for `.T`, found 1
              let _e = e.T;
                       ^
            error[HX0213]: a global tensor has nothing called `transpose`
              let _f = c.transpose;
                         ^^^^^^^^^
              fix: swap the last two modes with `.T` (`transpose` → `T`)
            error[HX0206]: expected 2, one for each mode of `[m, k]`, found 1
              let _g = tile(c, [8]);
                               ^^^
            error[HX0223]: found an array of 2, expected 3 parts
              let [_x, _y, _z] = block_idx;
                  ^^^^^^^^^^^^
            error[HX0223]: found an integer, expected 2 parts
              let (_u, _v) = 3;
                  ^^^^^^^^
        "#]],
    );
}

#[test]
fn shapes_are_compile_time_and_positive() {
    check(
        &kernel("let _r = register_tensor(f16, [m, 0]);\nlet _s = shared_tensor(BM, [8, 2.0]);"),
        expect![[r#"
            error[HX0209]: expected a compile-time value, found `m`, which is known only at launch
              let _r = register_tensor(f16, [m, 0]);
                                             ^
              help: numbers, constants and compile-time parameters are known at compile time
            error[HX0205]: found the extent `0`, expected a positive one
              let _r = register_tensor(f16, [m, 0]);
                                                ^
            error[HX0203]: expected an element type, found an integer
              let _s = shared_tensor(BM, [8, 2.0]);
                                     ^^
            error[HX0203]: expected an integer, found a floating-point number
              let _s = shared_tensor(BM, [8, 2.0]);
                                             ^^^
        "#]],
    );
}

#[test]
fn conditions_are_uniform() {
    check(
        &kernel(
            "let x = register_tensor(f32, [8]);\nif x > 0.0 { sync(); }\nwhile m { sync(); }\nfor i in m { fill(x, i); }",
        ),
        expect![[r#"
            error[HX0214]: expected a condition that is the same for all threads, found a tensor
              if x > 0.0 { sync(); }
                 ^^^^^^^
              help: `where(condition, x, y)` chooses element by element
            error[HX0203]: expected a truth value, found an integer
              while m { sync(); }
                    ^
            error[HX0203]: expected a range `a..b` or a counter, found an integer
              for i in m { fill(x, i); }
                       ^
        "#]],
    );
}

#[test]
fn headers() {
    check(
        "kernel f(a: f16[m]) {}\n",
        expect![[r#"
        error[HX0220]: the kernel has no `grid`: how many blocks run it
          kernel f(a: f16[m]) {}
                 ^
        error[HX0220]: the kernel has no `threads`: how many threads a block has
          kernel f(a: f16[m]) {}
                 ^
    "#]],
    );
    check(
        "kernel f(a: f16[m]) where m % 8 grid [m, 1, 1, 1] threads 100 {}\n",
        expect![[r#"
            error[HX0203]: expected a truth value, found an integer
              kernel f(a: f16[m]) where m % 8 grid [m, 1, 1, 1] threads 100 {}
                                        ^^^^^
            error[HX0220]: found 4 axes, expected 1 to 3
              kernel f(a: f16[m]) where m % 8 grid [m, 1, 1, 1] threads 100 {}
                                                   ^^^^^^^^^^^^
            error[HX0506]: found 100 threads, expected a multiple of 32
              kernel f(a: f16[m]) where m % 8 grid [m, 1, 1, 1] threads 100 {}
                                                                        ^^^
              fix: replace it by `96` (`100` → `96`)
              fix: replace it by `128` (`100` → `128`)
        "#]],
    );
    check(
        "kernel f<T: type = 3>(a: T[m] : [1, 2]) grid 1.5 threads 2048 {}\n",
        expect![[r#"
            error[HX0203]: found an integer, expected an element type
              kernel f<T: type = 3>(a: T[m] : [1, 2]) grid 1.5 threads 2048 {}
                                 ^
            error[HX0206]: expected 1, one stride for each dimension, found 2
              kernel f<T: type = 3>(a: T[m] : [1, 2]) grid 1.5 threads 2048 {}
                                              ^^^^^^
            error[HX0203]: expected an integer, found a floating-point number
              kernel f<T: type = 3>(a: T[m] : [1, 2]) grid 1.5 threads 2048 {}
                                                           ^^^
            error[HX0502]: found 2048 threads, expected at most 1024
              kernel f<T: type = 3>(a: T[m] : [1, 2]) grid 1.5 threads 2048 {}
                                                                       ^^^^
              fix: replace it by `1024` (`2048` → `1024`)
        "#]],
    );
    check(
        "kernel f(a: f16[m]) grid [1] threads m {}\n",
        expect![[r#"
            error[HX0209]: expected a compile-time value, found `m`, which is known only at launch
              kernel f(a: f16[m]) grid [1] threads m {}
                                                   ^
              help: numbers, constants and compile-time parameters are known at compile time
        "#]],
    );
}

#[test]
fn constants() {
    check(
        "const A: layout = 64;\nconst B: i8 = 300;\nconst C = 64 / 0;\nconst D = \"a\" * 2.0;\nconst E: f32 = 1;\nconst F = A(2);\n",
        expect![[r#"
            error[HX0203]: found an integer, expected a layout
              const A: layout = 64;
                                ^^
            error[HX0216]: found 300, which `i8` cannot hold
              const B: i8 = 300;
                            ^^^
            error[HX0217]: division by zero
              const C = 64 / 0;
                             ^
            error[HX0218]: `*` has no meaning between a string and a floating-point number
              const D = "a" * 2.0;
                        ^^^^^^^^^
            error[HX0105]: expected a function, found `A`, which is a layout
              const F = A(2);
                        ^
        "#]],
    );
}

#[test]
fn calls_of_functions() {
    check(
        "fn scale<N = 4>(x: register f32[M], by: f32) -> f32[M] { x * by }\n\
         fn half(x: register f32[M]) -> f16[M] { x }\n\
         fn row(x: shared mut f16[K]) { fill(x, 0.0); }\n\
         kernel f(a: f16[m]) grid [1] threads 32 {\n\
         let r = register_tensor(f32, [8]);\nlet s = scale<N = 2>(r, 2.0);\nlet _t = scale<K = 2>(s, r, 1.0);\nlet _u = half(a);\n\
         row(register_tensor(f16, [8]));\nscale(r, 1.0);\nf(a);\n}\n",
        expect![[r#"
            error[HX0204]: expected `register f16[M]`, found `register f32[M]`
              fn half(x: register f32[M]) -> f16[M] { x }
                                                      ^
            error[HX0202]: `scale` has no compile-time parameter `K`
              let _t = scale<K = 2>(s, r, 1.0);
                             ^
              help: it has `N`
            error[HX0201]: expected 2, found 3 arguments
              let _t = scale<K = 2>(s, r, 1.0);
                                          ^^^ `scale` takes 2 arguments
            error[HX0215]: found a global tensor, expected a register one for this parameter
              let _u = half(a);
                            ^
              help: `load` moves a tile of known extents into registers: `load(tile(x, [64, 64])[.., .., i, j])`
            error[HX0215]: found a register tensor, expected a shared one for this parameter
              row(register_tensor(f16, [8]));
                  ^^^^^^^^^^^^^^^^^^^^^^^^^
            warning[HX0221]: nothing takes this value: a register tensor
              scale(r, 1.0);
              ^^^^^^^^^^^^^
            error[HX0104]: the kernel `f` is launched from device code
              f(a);
              ^
              help: kernels are launched in `test`, `bench` and `main`; a tile function is a `fn`
        "#]],
    );
}

#[test]
fn assignments() {
    check(
        &kernel(
            "let x = register_tensor(f32, [8]);\nlet y = shared_tensor(f32, [8]);\ny = x;\nm = 3;\nx = 1.0;\nx *= 2.0;\nlet n = 1;\nn += 1;\nn = 2.5;",
        ),
        expect![[r#"
            error[HX0215]: found a shared tensor, expected a register one for `=`
              y = x;
              ^
              help: `copy(src, dst)` writes to shared and global memory
            error[HX0207]: cannot assign to `m`: only register tensors, their parts and numbers bound by `let` can be assigned
              m = 3;
              ^
            error[HX0203]: expected a tensor, found a floating-point number
              x = 1.0;
                  ^^^
            error[HX0203]: found a floating-point number, expected an integer
              n = 2.5;
                  ^^^
        "#]],
    );
}

#[test]
fn a_shape_cannot_mention_its_own_tensor() {
    check(
        "kernel k(x: f16[x], y: f16[z], z: f16[m]) grid [1] threads 32 {}",
        expect![[r#"
            error[HX0203]: expected an integer, found a global tensor
              kernel k(x: f16[x], y: f16[z], z: f16[m]) grid [1] threads 32 {}
                              ^
            error[HX0203]: expected an integer, found a global tensor
              kernel k(x: f16[x], y: f16[z], z: f16[m]) grid [1] threads 32 {}
                                         ^
        "#]],
    );
}

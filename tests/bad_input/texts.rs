//! Files with errors of their own: syntax, names, types, shapes, resources.

use expect_test::expect;

use super::{MATMUL, check, check_file, check_short, kernel};
use crate::support::Sandbox;

/// The items after the broken one are still parsed. The last kernel is called `k`, which must not collide with a dimension `k`.
#[test]
fn a_syntax_error_in_mid_file() {
    let good = kernel("copy(x, y);");
    let text =
        format!("{MATMUL}\nkernel broken(x: f16[m) grid [1] threads 32 {{ let = 3; copy(x,, x) }}\n\n{good}");
    check_short(
        &text,
        &["check", "a.hx"],
        expect![[r#"
            exit 1
            --- stderr
            a.hx:44:23: error[HX0001]: found `)` where `]` for the `[` opened before was expected
            a.hx:44:51: error[HX0001]: found `=` where a name or a pattern was expected
            a.hx:44:63: error[HX0001]: found `,` where an argument was expected
            a.hx:44:65: error[HX0207]: `x` is written, but it is not marked `mut`
            a.hx:47:6: error[HX0209]: found the extent `m`, which is known only at run time
            5 errors
        "#]],
    );
    check(
        "kernel k(x: f16[m], y: mut f16[m]) grid [1] threads 32 {\n    let r = ;\n}\n",
        &["check", "a.hx"],
        expect![[r#"
            exit 1
            --- stderr
            warning[HX0106]: nothing uses `r`
               ╭─[ a.hx:2:9 ]
               │
             2 │     let r = ;
               │         ┬
               │         ╰── here
               │
               │ Help: rename it to `_r`
               │       2 -     let r = ;
               │       2 +     let _r = ;
            ───╯

            error[HX0001]: found `;` where an expression was expected
               ╭─[ a.hx:2:13 ]
               │
             2 │     let r = ;
               │             ┬
               │             ╰── here
            ───╯

            1 error, 1 warning
        "#]],
    );
}

#[test]
fn an_empty_file() {
    check(
        "",
        &["check", "a.hx"],
        expect![[r#"
        exit 0
        --- stderr
        checked 1 file for sm_90a: no errors
    "#]],
    );
    check(
        "",
        &["check", "a.hx", "--emit", "layouts"],
        expect![[r#"
        exit 0
        --- stderr
        there is no kernel to show
    "#]],
    );
    check(
        "",
        &["run", "a.hx", "--device", "sim"],
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        error[HX0614]: the file has no `main { … }` to run
           ╭─[ a.hx:1:1 ]
           │
         1 │
           │ │
           │ ╰─ here
           │
           │ Help: `hx test` runs its tests, `hx check` checks its kernels
        ───╯

        1 error
    "#]],
    );
    check(
        "",
        &["test", "a.hx"],
        expect![[r#"
        exit 4
        --- stdout
        0 passed, 0 failed, 0 skipped
        --- stderr
        no test matches
    "#]],
    );
}

#[test]
fn unfinished_texts() {
    check_file(
        "/* never ends",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:1: error[HX0003]: found the end of the text inside a block comment: `*/` is missing
        1 error
    "#]],
    );
    check_file(
        "test \"never ends",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:6: error[HX0002]: found the end of the line inside a string: `"` is missing
        1 error
    "#]],
    );
    check_file(
        "kernel",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:1: error[HX0220]: the kernel has no `grid`: how many blocks run it
        a.hx:1:1: error[HX0220]: the kernel has no `threads`: how many threads a block has
        a.hx:1:7: error[HX0001]: found the end of the text where the name of a kernel was expected
        3 errors
    "#]],
    );
    check_file(
        "kernel k(",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:8: error[HX0220]: the kernel has no `grid`: how many blocks run it
        a.hx:1:8: error[HX0220]: the kernel has no `threads`: how many threads a block has
        a.hx:1:10: error[HX0001]: found the end of the text where `)` for the `(` opened before was expected
        3 errors
    "#]],
    );
    check_file(
        "kernel k<",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:8: error[HX0220]: the kernel has no `grid`: how many blocks run it
        a.hx:1:8: error[HX0220]: the kernel has no `threads`: how many threads a block has
        a.hx:1:10: error[HX0001]: found the end of the text where `>` for the `<` opened before was expected
        3 errors
    "#]],
    );
    check_file(
        "main { if true { print(1);",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:27: error[HX0001]: found the end of the text where `}` for the `{` opened before was expected
        1 error
    "#]],
    );
    check_file(
        "}}}",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:1: error[HX0009]: found `}` that closes nothing
        1 error
    "#]],
    );
}

#[test]
fn characters_that_mean_nothing() {
    check_file(
        "const A = 1\u{37e}\n",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:12: error[HX0005]: found `;` (U+037E): write `;`
        1 error
    "#]],
    );
    check_file(
        "const A = “one”;\n",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:11: error[HX0005]: found `“` (U+201C): write a string in straight double quotes
        a.hx:1:15: error[HX0005]: found `”` (U+201D): write a string in straight double quotes
        2 errors
    "#]],
    );
    check_file(
        "\u{feff}const A = 1; \u{0} $ `\n",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:15: error[HX0004]: found `\0` (U+0000), which starts no token
        a.hx:1:17: error[HX0013]: found `$`: names are made of letters, digits and `_`
        a.hx:1:19: error[HX0013]: found a backtick: strings are written in double quotes
        3 errors
    "#]],
    );
}

#[test]
fn a_file_that_is_not_utf8() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hx", b"const A = 1; // caf\xe9\n");
    sandbox.run(&["check", "a.hx"]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0627]: cannot open `a.hx`: the file is not UTF-8 text: the byte at offset 19 begins no character
    "#]]);
    // If the command names a folder, the message names the file in it.
    sandbox.write("kernels/b.hx", b"\xff\n");
    sandbox.write("kernels/good.hx", b"main { }\n");
    sandbox.run(&["check", "kernels"]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0627]: cannot open `kernels/b.hx`: the file is not UTF-8 text: the byte at offset 0 begins no character
        checked 1 file for sm_90a: no errors
    "#]]);
}

#[test]
fn deep_nesting() {
    let deep =
        |open: &str, close: &str| format!("const A = {}1{};\n", open.repeat(20_000), close.repeat(20_000));
    check_file(
        &deep("(", ")"),
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:139: error[HX0008]: found code nested more than 128 levels deep: split it up
        1 error
    "#]],
    );
    check_file(
        &deep("-", ""),
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:139: error[HX0008]: found code nested more than 128 levels deep: split it up
        1 error
    "#]],
    );
    check_file(
        &deep("[", "]"),
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:139: error[HX0008]: found code nested more than 128 levels deep: split it up
        1 error
    "#]],
    );
    check_file(
        &deep("1 + ", ""),
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:11: error[HX0008]: found an expression of too many parts: split it up
        1 error
    "#]],
    );
    check_file(
        &format!("main {}{}\n", "{ if true ".repeat(20_000), "}".repeat(20_000)),
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:641: error[HX0008]: found code nested more than 128 levels deep: split it up
        a.hx:1:219942: error[HX0001]: found `}` where `{` was expected
        2 errors
    "#]],
    );
}

#[test]
fn an_unknown_name() {
    check(
        &MATMUL.replace("fill(rc, 0.0)", "fil(rc, 0.0)"),
        &["check", "a.hx"],
        expect![[r#"
        exit 1
        --- stderr
        error[HX0101]: nothing in scope is called `fil`
            ╭─[ a.hx:13:5 ]
            │
         13 │     fil(rc, 0.0);
            │     ─┬─
            │      ╰─── here
            │
            │ Help 1: `fill` is near in spelling
            │
            │ Help 2: replace it by `fill`
            │         13 -     fil(rc, 0.0);
            │         13 +     fill(rc, 0.0);
        ────╯

        1 error
    "#]],
    );
    check_file(
        &kernel("copy(x, z);"),
        expect![[r#"
        exit 1
        --- stderr
        a.hx:2:9: error[HX0101]: nothing in scope is called `z`
        1 error
    "#]],
    );
    check_file(
        "use std::matmul::matmal;\nuse std::nothing::at_all;\n",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:5: error[HX0103]: `std::matmul::matmal` leads to no file and no item
        a.hx:2:5: error[HX0103]: `std::nothing::at_all` leads to no file and no item
        2 errors
    "#]],
    );
}

#[test]
fn one_name_twice() {
    check(
        &kernel("").repeat(2),
        &["check", "a.hx"],
        expect![[r#"
        exit 1
        --- stderr
        error[HX0102]: `k` is defined twice
           ╭─[ a.hx:4:8 ]
           │
         1 │ kernel k(x: f16[m, n], y: mut f16[m, n]) grid [cdiv(m, 16)] threads 64 {
           │        ┬
           │        ╰── first defined here
           │
         4 │ kernel k(x: f16[m, n], y: mut f16[m, n]) grid [cdiv(m, 16)] threads 64 {
           │        ┬
           │        ╰── here
        ───╯

        1 error
    "#]],
    );
    check_file(
        "const A = 1;\nfn A(x: f32) -> f32 { x }\n",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:2:4: error[HX0102]: `A` is defined twice
        1 error
    "#]],
    );
    check_file(
        "kernel k<A = 1, A = 2>(x: f16[A], x: f16[A]) grid [1] threads 32 {}\n",
        expect![[r#"
        exit 1
        --- stderr
        a.hx:1:17: error[HX0102]: `A` is defined twice
        a.hx:1:35: error[HX0102]: `x` is defined twice
        2 errors
    "#]],
    );
}

#[test]
fn shapes_that_do_not_match() {
    let wrong = MATMUL.replace("register_tensor(f16, [BN, BK])", "register_tensor(f16, [BN, BM])");
    check(
        &wrong,
        &["check", "a.hx"],
        expect![[r#"
            exit 1
            --- stderr
            error[HX0205]: expected `[64, 64]`, found the shape `[64, 16]`
                ╭─[ a.hx:17:9 ]
                │
             17 │         copy(gb[.., .., ki], rb);
                │         ────────────┬─────────┬─
                │                     ╰───────────── this has the shape `[64, 16]`
                │                     │         │
                │                     ╰───────────── here
                │                               │
                │                               ╰─── this has the shape `[64, 64]`
            ────╯

            error[HX0205]: found K = `64` in `[64, 64]`, expected `16`
                ╭─[ a.hx:18:22 ]
                │
             18 │         gemm(rc, ra, rb);
                │                  ─┬  ─┬
                │                   ╰────── K is `16` here
                │                       │
                │                       ╰── K is `64` here
                │
                │ Note: `gemm(c, a, b)` wants `c[M, N]`, `a[M, K]` and `b[N, K]`, or all three with the same mode after them
            ────╯

            2 errors
        "#]],
    );
    let gemm = MATMUL.replace("register_tensor(f32, [BM, BN])", "register_tensor(f32, [BN, 32])");
    check_file(
        &gemm,
        expect![[r#"
            exit 1
            --- stderr
            a.hx:18:22: error[HX0205]: found N = `64` in `[64, 16]`, expected `32`
            a.hx:21:5: error[HX0205]: expected `[64, 64]`, found the shape `[64, 32]`
            2 errors
        "#]],
    );
    check_file(
        &kernel(
            "    let r = register_tensor(f16, [16, 8]);\n    let s = register_tensor(f16, [16]);\n    copy(r, s);\n    r = r + s;",
        ),
        expect![[r#"
            exit 1
            --- stderr
            a.hx:4:5: error[HX0205]: expected `[16]`, found the shape `[16, 8]`
            a.hx:5:9: error[HX0205]: expected `[16]`, found the shape `[16, 8]`
            2 errors
        "#]],
    );
}

#[test]
fn element_types_that_meet() {
    check_file(
        &kernel(
            "    let r = register_tensor(f16, [16, 8]);\n    let s = register_tensor(f32, [16, 8]);\n    copy(r, s);\n    let t = r + s;",
        ),
        expect![[r#"
            exit 1
            --- stderr
            a.hx:4:10: error[HX0204]: expected `f32`, found elements of type `f16`
            a.hx:5:9: warning[HX0106]: nothing uses `t`
            a.hx:5:17: error[HX0204]: expected `f16`, found elements of type `f32`
            2 errors, 1 warning
        "#]],
    );
    check_file(
        &MATMUL.replace("register_tensor(f16, [BN, BK])", "register_tensor(bf16, [BN, BK])"),
        expect![[r#"
            exit 1
            --- stderr
            a.hx:17:14: error[HX0204]: expected `bf16`, found elements of type `f16`
            a.hx:18:22: error[HX0204]: expected `f16`, found elements of type `bf16`
            2 errors
        "#]],
    );
}

#[test]
fn what_may_not_be_written() {
    check(
        &MATMUL.replace("c: mut f16[m, n]", "c: f16[m, n]"),
        &["check", "a.hx"],
        expect![[r#"
            exit 1
            --- stderr
            error[HX0207]: `c` is written, but it is not marked `mut`
                ╭─[ a.hx:25:15 ]
                │
              2 │ kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: f16[m, n])
                │                                                                         ────┬────
                │                                                                             ╰────── declared here
                │
             25 │     copy(rc1, global_view(c[bm * BM.., bn * BN..], (BM, BN) : (n, 1)));
                │               ───────────────────────────┬───────────────────────────
                │                                          ╰───────────────────────────── here
                │
                │ Help: mark `c` as `mut`
                │       2 - kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: f16[m, n])
                │       2 + kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
            ────╯

            1 error
        "#]],
    );
    check_file(
        &kernel("    let i = block_idx;\n    i = 3;"),
        expect![[r#"
        exit 0
        --- stderr
        checked 1 file for sm_90a: no errors
    "#]],
    );
}

#[test]
fn a_view_that_leaves_its_buffer() {
    let wrong = MATMUL.replace("(BM, BK, k / BK) : (k, 1, BK)", "(BM, BK, k / BK) : (m, 1, BK)");
    check(
        &wrong,
        &["check", "a.hx"],
        expect![[r#"
        exit 1
        --- stderr
        error[HX0210]: the mode `64 : m` follows no dimension of `a`
           ╭─[ a.hx:8:44 ]
           │
         8 │     let ga = global_view(a[bm * BM.., ..], (BM, BK, k / BK) : (m, 1, BK));
           │                          ────────┬───────  ──────────────┬──────────────
           │                                  ╰──────────────────────────────────────── the strides of the buffer are `[k, 1]`
           │                                                          │
           │                                                          ╰──────────────── here
           │
           │ Help: let the stride of each mode be a constant multiple of one of the buffer's strides
        ───╯

        1 error
    "#]],
    );
    check_file(
        &kernel("    let r = register_tensor(f16, [16, 8]);\n    copy(global_view(x, (16, 8) : (m, 1)), r);"),
        expect![[r#"
            exit 1
            --- stderr
            a.hx:3:25: error[HX0210]: the mode `16 : m` follows no dimension of `x`
            1 error
        "#]],
    );
}

#[test]
fn a_barrier_that_is_missing() {
    check(
        &MATMUL.replace("    sync();\n", ""),
        &["check", "a.hx"],
        expect![[r#"
            exit 1
            --- stderr
            error[HX0401]: threads race on `sc`: nothing orders the accesses
                ╭─[ a.hx:23:5 ]
                │
             21 │     copy(cast(rc, f16), sc);
                │     ───────────┬───────────
                │                ╰───────────── the warp of thread 0 writes `sc` here
                │
             23 │     copy(sc, rc1);
                │     ──────┬──────
                │           ╰──────── thread 0 reads `sc` here
                │
                │ Help: insert `sync()`
                │       23 +     sync();
                │
                │ Note: both touch `sc[0, 0]`
            ────╯

            1 error
        "#]],
    );
}

#[test]
fn items_that_need_themselves() {
    check_file(
        "const A = B;\nconst B = A;\nfn f(x: f32) -> f32 { f(x) }\nmain { print(A, f(1.0)); }\n",
        expect![[r#"
            exit 1
            --- stderr
            a.hx:1:11: error[HX0108]: `A` needs itself
            a.hx:2:11: error[HX0108]: `B` needs itself
            a.hx:3:23: error[HX0108]: `f` calls itself
            3 errors
        "#]],
    );
}

#[test]
fn numbers() {
    check_file(
        "const A = 9223372036854775807 + 1;\nconst B = 1 / 0;\nconst C = 1e999;\nconst D = 0b12;\nconst E = 99999999999999999999999999999999999999999;\nmain { print(A, B, C, D, E); }\n",
        expect![[r#"
            exit 1
            --- stderr
            a.hx:1:11: error[HX0217]: the value does not fit 64 bits
            a.hx:2:15: error[HX0217]: division by zero
            a.hx:3:11: error[HX0006]: found a number beyond the range of f64: infinity is written `inf`
            a.hx:4:11: error[HX0006]: found `0b12`: after `0x`, `0b` or `0o` come digits of base 16, 2 or 8, up to 128 bits
            a.hx:5:11: error[HX0006]: found a number that no type of the language can hold
            5 errors
        "#]],
    );
}

#[test]
fn code_of_other_languages() {
    check_file(
        "__global__ void k(float* x) { x[threadIdx.x] = 0; }\n\ndef k(x):\n    return x\n\n#include <cuda.h>\n",
        expect![[r#"
            exit 1
            --- stderr
            a.hx:1:1: error[HX0001]: found `__global__` where an item was expected: did you mean `kernel`?
            a.hx:6:1: error[HX0013]: found `#include`: another file's items are brought in with `use`
            2 errors
        "#]],
    );
}

#[test]
fn what_the_compiler_cannot_do_yet() {
    check_file(
        &kernel("    let i = index(x, 0);\n    print(i);"),
        expect![[r#"
            exit 1
            --- stderr
            a.hx:2:19: error[HX0209]: found extents that are known only at run time
            1 error
        "#]],
    );
}

/// A slip from another language is reported as a single error, and the text after it is parsed.
#[test]
fn one_slip_is_one_error() {
    check_file(
        "kernel k(x: f32[n], y: mut f32[n]) grid [1] threads 128 {
    for i in 0..n step 128 {
        if i > 3 { break; }
        copy(tile(x, [128])[.., i], tile(y, [128])[.., i]);
    }
    return;
}
kernel r(x: f32[n]) grid [1] {
    warp_groups {
        producer threads 32 { let _t = tile(x, [32]); }
        consumer {}
    }
}
",
        expect![[r#"
            exit 1
            --- stderr
            a.hx:2:19: error[HX0013]: found `step`: loops count by 1: `for i in 0..cdiv(n, 128)`, where part `i` begins at `i * 128`
            a.hx:3:20: error[HX0013]: found `break`: loops run to their end: use a condition in `while`
            a.hx:6:5: error[HX0013]: found `return`: the last expression of a body, without `;`, is its value
            a.hx:10:18: error[HX0013]: found `threads` in the header of a role: a role has groups of 128 threads, `consumer 2` two of them
            4 errors
        "#]],
    );
}

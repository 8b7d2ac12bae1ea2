//! Invalid launches: wrong arguments, violated requirements, and faults that the simulator finds.

use expect_test::expect;

use super::{MATMUL, check, check_main};
use crate::support::Sandbox;

const CALL: &str = "    matmul(a, b, c);\n}\n";

/// Returns a `main` with the three tensors of a matmul.
fn main_with(a: &str, b: &str, c: &str) -> String {
    format!(
        "use std::matmul::matmul;\n\nmain {{\n    let a = {a};\n    let b = {b};\n    let c = {c};\n{CALL}"
    )
}

fn check_launch(a: &str, b: &str, c: &str, expected: expect_test::Expect) {
    super::check_short(&main_with(a, b, c), &["run", "a.hx", "--device", "sim"], expected);
}

#[test]
fn dimensions_that_disagree() {
    let text = main_with("zeros(f16, [100, 80])", "zeros(f16, [72, 64])", "empty(f16, [100, 72])");
    check(
        &text,
        &["run", "a.hx", "--device", "sim"],
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        error[HX0604]: dimension 1 of `b` is 64, but `k` is 80 in `a`
           ╭─[ a.hx:7:15 ]
           │
         7 │     matmul(a, b, c);
           │               ┬
           │               ╰── here
           │
           ├─[ std/matmul.hx:2:52 ]
           │
         2 │ kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
           │                                                    ┬             ┬
           │                                                    ╰──────────────── `k` = 80 here
           │                                                                  │
           │                                                                  ╰── `k` = 64 here
        ───╯

        1 error
    "#]],
    );
    check_launch(
        "zeros(f16, [100, 80])",
        "zeros(f16, [72, 80])",
        "empty(f16, [72, 100])",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:7:18: error[HX0604]: dimension 0 of `c` is 72, but `m` is 100 in `a`
        1 error
    "#]],
    );
}

#[test]
fn a_wrong_rank() {
    check_launch(
        "zeros(f16, [100])",
        "zeros(f16, [72, 80])",
        "empty(f16, [100, 72])",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:7:12: error[HX0602]: found rank 1 in f16[100], the parameter `a` has rank 2
        1 error
    "#]],
    );
    check_launch(
        "zeros(f16, [1, 100, 80])",
        "zeros(f16, [72, 80])",
        "empty(f16, [100, 72])",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:7:12: error[HX0602]: found rank 3 in f16[1, 100, 80], the parameter `a` has rank 2
        1 error
    "#]],
    );
    check_launch(
        "3",
        "zeros(f16, [72, 80])",
        "empty(f16, [100, 72])",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:7:12: error[HX0603]: found an integer, the parameter `a` is a tensor
        1 error
    "#]],
    );
}

#[test]
fn a_wrong_element_type() {
    check_launch(
        "zeros(f32, [100, 80])",
        "zeros(f16, [72, 80])",
        "empty(f16, [100, 72])",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:7:12: error[HX0603]: found f32 elements, the parameter `a` has f16
        1 error
    "#]],
    );
    check_launch(
        "zeros(f16, [100, 80])",
        "zeros(f16, [72, 80]) * 2",
        "empty(f16, [100, 72])",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:7:15: error[HX0603]: found f64 elements, the parameter `b` has f16
        1 error
    "#]],
    );
}

#[test]
fn a_broken_where() {
    let text = main_with("zeros(f16, [64, 20])", "zeros(f16, [64, 20])", "empty(f16, [64, 64])");
    check(
        &text,
        &["run", "a.hx", "--device", "sim"],
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        error[HX0601]: `k % BK == 0` does not hold with k = 20, BK = 16
           ╭─[ a.hx:7:5 ]
           │
         7 │     matmul(a, b, c);
           │     ───────┬───────
           │            ╰───────── here
           │
           ├─[ std/matmul.hx:3:11 ]
           │
         3 │     where k % BK == 0
           │           ─────┬─────
           │                ╰─────── `matmul` relies on this
           │
           │ Note: the left side is 4, the right side is 0
        ───╯

        1 error
    "#]],
    );
}

#[test]
fn memory_that_is_not_contiguous() {
    check_launch(
        "zeros(f16, [80, 100]).T",
        "zeros(f16, [72, 80])",
        "empty(f16, [100, 72])",
        expect![[r#"
        exit 0
        --- stderr
        device: simulator (sm_90a)
    "#]],
    );
}

#[test]
fn arguments_that_overlap() {
    check_main(
        "use std::matmul::matmul;\n",
        "let a = zeros(f16, [64, 64]);\nmatmul(a, a, a);",
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:4:14: error[HX0605]: the arguments for `a` and `c` share memory, and the kernel writes `c`
            1 error
        "#]],
    );
}

#[test]
fn dimensions_beyond_32_bits() {
    check_launch(
        "zeros(f16, [0, 3000000000])",
        "zeros(f16, [0, 3000000000])",
        "empty(f16, [0, 0])",
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:7:12: error[HX0621]: dimension 1 of `a` is 3000000000, and a kernel counts in 32 bits
            1 error
        "#]],
    );
}

#[test]
fn arguments_that_do_not_fit_the_header() {
    let body = |call: &str| format!("let a = zeros(f16, [64, 64]);\nlet c = empty(f16, [64, 64]);\n{call}");
    let text = "use std::matmul::matmul;\n";
    check_main(
        text,
        &body("matmul(a, c);"),
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:5:1: error[HX0222]: `matmul` lacks the argument `c`
        1 error
    "#]],
    );
    check_main(
        text,
        &body("matmul(a, a, c, c);"),
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:5:17: error[HX0201]: expected 3, found 4 arguments
            1 error
        "#]],
    );
    check_main(
        text,
        &body("matmul<BM = 64, BQ = 3>(a, a, c);"),
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:5:17: error[HX0202]: `matmul` has no compile-time parameter `BQ`
        1 error
    "#]],
    );
    check_main(
        text,
        &body("matmul<BM = f16>(a, a, c);"),
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            std/matmul.hx:4:19: error[HX0203]: expected an integer, found the element type `f16`
            1 error
        "#]],
    );
    check_main(
        text,
        &body("matmul<BM = 0>(a, a, c);"),
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            std/matmul.hx:4:19: error[HX0217]: found the divisor `0`, expected a positive one
            1 error
        "#]],
    );
    check_main(
        text,
        &body("matmul<BM = 8192>(a, a, c);"),
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            std/matmul.hx:12:14: error[HX0503]: `rc` takes 4096 registers of each thread, which has 255 on sm_90a
            1 error
        "#]],
    );
}

#[test]
fn a_parameter_that_nothing_fixes() {
    check_main(
        "kernel k<N>(y: mut f16[m]) grid [1] threads 32 {\n    let r = register_tensor(f16, [N]);\n    fill(r, 0.0);\n    copy(r, global_view(y, (N) : (1)));\n}\n",
        "let y = empty(f16, 64);\nk(y);",
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:8:1: error[HX0622]: the compile-time parameter `N` of `k` has no value
            1 error
        "#]],
    );
}

/// Two blocks write the same elements, which is a race.
#[test]
fn blocks_that_race() {
    let text = "kernel k(x: f32[m], y: mut f32[n]) grid [2] threads 32 {
    let i = block_idx;
    let r = register_tensor(f32, [32]);
    copy(global_view(x[i * 32..], (32) : (1)), r);
    copy(r, global_view(y, (32) : (1)));
}

main {
    let y = empty(f32, 32);
    k(randn(f32, 64), y);
}
";
    check(
        text,
        &["run", "a.hx", "--device", "sim"],
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            error[HX0618]: writes element 0 ([0]) of `y`, which block [0, 0, 0] writes
                ╭─[ a.hx:5:5 ]
                │
              5 │     copy(r, global_view(y, (32) : (1)));
                │     ─────────────────┬─────────────────
                │                      ╰─────────────────── here
                │                      │
                │                      ╰─────────────────── block [0, 0, 0] wrote it here
                │
             10 │     k(randn(f32, 64), y);
                │     ──────────┬─────────
                │               ╰─────────── in this launch
                │
                │ Help: one block releases after its access, as `atomic_store(flag, one, order: "release")` does, and the other acquires before its own, as `atomic_load(flag, order: "acquire")` does; or each block has elements of its own
                │
                │ Note: seen in block [1, 0, 0]
            ────╯

            1 error
        "#]],
    );
}

#[test]
fn shared_memory_that_nothing_wrote() {
    let text = "kernel k(y: mut f32[m]) grid [1] threads 32 {\n    let s = shared_tensor(f32, [32]);\n    let r = register_tensor(f32, [32]);\n    copy(s, r);\n    copy(r, global_view(y, (32) : (1)));\n}\n\nmain {\n    let y = empty(f32, 32);\n    k(y);\n}\n";
    check(
        text,
        &["run", "a.hx", "--device", "sim"],
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            error[HX0411]: `s` is read, and nothing writes it
                ╭─[ a.hx:4:5 ]
                │
              2 │     let s = shared_tensor(f32, [32]);
                │             ────────────┬───────────
                │                         ╰───────────── `s` begins undefined
                │
              4 │     copy(s, r);
                │     ─────┬────
                │          ╰────── here
                │
             10 │     k(y);
                │     ──┬─
                │       ╰─── in this launch
                │
                │ Help: `copy` into `s`, or `fill` it, before it is read
            ────╯

            1 error
        "#]],
    );
}

/// The kernel has one wrong constant: the report shows where the result differs, and in which pattern.
#[test]
fn a_result_that_is_not_close() {
    let wrong = MATMUL.replace("fill(rc, 0.0)", "fill(rc, 1.0)");
    let args = ["test", "a.hx", "[64, 64, 16]", "--device", "sim", "--message-format", "short"];
    let ran = crate::support::Sandbox::with("a.hx", &wrong).run(&args);
    assert_eq!(ran.code, 1);
    let said = ran.stderr;
    expect![[r#"
        device: simulator (sm_90a)
        a.hx:33:5: error[HX0612]: 4096 of 4096 elements of f16[64, 64] are not within ulp: 4 of the reference
          rerun: hx test 'a.hx::matmul agrees with the reference[64, 64, 16]' --exact --device sim --seed 0
          step:  hx step 'a.hx::matmul agrees with the reference[64, 64, 16]' --exact --seed 0

    "#]]
    .assert_eq(&said);
    let wrong = MATMUL.replace("[bm * BM.., bn * BN..]", "[bm * BM + 8.., bn * BN..]");
    let ran = crate::support::Sandbox::with("a.hx", &wrong).run(&[
        "test",
        "a.hx",
        "[64, 64, 16]",
        "--device",
        "sim",
    ]);
    assert_eq!(ran.code, 1);
    expect![[r#"
        device: simulator (sm_90a)
        error[HX0612]: 4090 of 4096 elements of f16[64, 64] are not within ulp: 4 of the reference
            ╭─[ a.hx:33:5 ]
            │
          4 │     grid [cdiv(m, BM), cdiv(n, BN)]
            │          ─────────────┬────────────
            │                       ╰────────────── the grid is [1, 1]
            │
          7 │     let [bm, bn] = block_idx;
            │                    ────┬────
            │                        ╰────── gives `bm`, `bn`
            │
         25 │     copy(rc1, global_view(c[bm * BM + 8.., bn * BN..], (BM, BN) : (n, 1)));
            │     ───────────────────────────────────┬──────────────────────────────────
            │                                        ╰──────────────────────────────────── the only block writes `c[8..64, 0..64]`
            │
         33 │     assert_close(c, a @ b.T, ulp: 4);
            │     ────────────────┬───────────────
            │                     ╰───────────────── here
            │
            │ Note 1: first at [0, 0]: got unwritten memory, expected -7.24259498
            │
            │ Note 2: worst at [39, 12]: absolute 18.14, relative 4.88, 9289 ulp of f16 (got -14.421875, expected 3.72118263)
            │
            │ Note 3: wrong: scattered over 99% of the tensor
            │
            │ Note 4: 512 of them are unwritten memory
            │
            │ Note 5: nothing wrote [0, 0]: the only block wrote `c[8..64, 0..64]`
        ────╯

          rerun: hx test 'a.hx::matmul agrees with the reference[64, 64, 16]' --exact --device sim --seed 0
          step:  hx step 'a.hx::matmul agrees with the reference[64, 64, 16]' --exact --seed 0

    "#]].assert_eq(&ran.stderr);
}

#[test]
fn host_values() {
    check_main(
        "",
        "let x = zeros(f16, [4]);\nprint(x[7]);",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:3:7: error[HX0614]: index 7 lies outside of dimension 0, whose extent is 4
        1 error
    "#]],
    );
    check_main(
        "",
        "print(args[0]);",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:2:7: error[HX0614]: index 0 lies outside of a list of 0
        1 error
    "#]],
    );
    check_main(
        "",
        "print(1 / 0);",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:2:7: error[HX0614]: `1 / 0` divides by zero
        1 error
    "#]],
    );
    check_main(
        "",
        "print(9223372036854775807 + 1);",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:2:7: error[HX0614]: `9223372036854775807 + 1` overflows i64
        1 error
    "#]],
    );
    check_main(
        "",
        "print(zeros(f16, [2, 3]) @ zeros(f16, [2, 3]));",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:2:7: error[HX0615]: `@` cannot multiply shapes [2, 3] and [2, 3]
        1 error
    "#]],
    );
    check_main(
        "",
        "print(zeros(f16, [2]) + zeros(f16, [3]));",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:2:7: error[HX0615]: shapes [2] and [3] do not broadcast in `+`
        1 error
    "#]],
    );
    check_main(
        "",
        "print(zeros(f16, [1000000, 1000000, 1000000]));",
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:2:7: error[HX0633]: found a tensor of shape [1000000, 1000000, 1000000], which takes 1818989.4 TiB to compute with, expected at most 4 GiB more
            1 error
        "#]],
    );
    check_main(
        "",
        "print(zeros(f16, [100000, 100000, 100]));",
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:2:7: error[HX0633]: found a tensor of shape [100000, 100000, 100], which takes 1.8 TiB to compute with, expected at most 4 GiB more
            1 error
        "#]],
    );
    check_main(
        "",
        "print(zeros(f16, [-1]));",
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:2:7: error[HX0615]: -1 is not an extent
            1 error
        "#]],
    );
    check_main(
        "",
        "assert(1 + 1 == 3, \"arithmetic\");",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:2:8: error[HX0612]: arithmetic
        1 error
    "#]],
    );
    check_main(
        "",
        "assert_eq(arange(f32, 4), arange(f32, 4) * 2);",
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:2:1: error[HX0612]: 3 of 4 elements of f32[4] are not equal
            1 error
        "#]],
    );
    check_main(
        "",
        "assert_close(zeros(f16, [2]), zeros(f16, [3]), ulp: 1);",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:2:1: error[HX0612]: the shapes differ: [2] and [3]
        1 error
    "#]],
    );
}

/// A tensor that the kernel writes must be bound to a name, or the result is lost.
#[test]
fn a_result_that_is_lost() {
    check_main(
        "use std::matmul::matmul;\n",
        "matmul(zeros(f16, [64, 64]), zeros(f16, [64, 64]), empty(f16, [64, 64]));",
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:3:52: error[HX0614]: the kernel writes `c`, and this value is held by no variable
            1 error
        "#]],
    );
}

#[test]
fn a_program_that_never_ends() {
    let text = "main {\n    while true { }\n}\n";
    let args = ["run", "a.hx", "--device", "sim", "--timeout", "0.2", "--message-format", "short"];
    let ran = Sandbox::with("a.hx", text).run(&args);
    // The limit is reached at the condition or at the body, whichever is evaluated then.
    expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:2:11: error[HX0613]: stopped here, before the end
        1 error
    "#]]
    .assert_eq(&ran.text().replace("a.hx:2:16", "a.hx:2:11"));
}

/// A kernel with a race: its two warps exchange elements through `s` without a barrier.
const RACE: &str = "kernel k<N = 64>(x: f32[m], y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    let s = shared_tensor(f32, [256]);
    let t = register_tensor(f32, [256], layout: (64, 4) : (1, 64));
    copy(load(tile(x, [256])[.., block_idx]), s);
    copy(s, t);
    copy(t, tile(y, [256])[.., block_idx]);
}
";

#[test]
fn code_of_a_kernel_with_a_race_is_not_built() {
    super::check_short(
        RACE,
        &["build", "a.hx", "--emit", "cuda", "-o", "k.cu"],
        expect![[r#"
        exit 1
        --- stderr
        a.hx:5:5: error[HX0401]: threads race on `s`: nothing orders the accesses
    "#]],
    );
}

#[test]
fn two_programs_in_one_file() {
    super::check_short(
        "main { }\nmain { }\n",
        &["check", "a.hx"],
        expect![[r#"
        exit 1
        --- stderr
        a.hx:2:1: error[HX0102]: `main` is defined twice
        1 error
    "#]],
    );
}

#[test]
fn a_reference_that_nothing_wrote() {
    check_main(
        "",
        "let x = empty(f32, [4]); let z = empty(f32, [4]); assert_eq(x, z);",
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:2:51: error[HX0612]: nothing was written to the reference
            1 error
        "#]],
    );
}

/// Conversions on the host have the same results as in kernels.
#[test]
fn conversions_of_the_host() {
    check_main(
        "",
        "print(cast(-3.75, i32), cast(300, u8), cast([-3.75, 3.75, 1.0e10], i32), cast(cast([300, -1], i64), u8));",
        expect![[r#"
            exit 0
            --- stdout
            -3 44 i32[3]
            [        -3,          3, 2147483647] u8[2]
            [ 44, 255]
            --- stderr
            device: simulator (sm_90a)
        "#]],
    );
}

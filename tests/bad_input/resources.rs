//! Kernels that need more resources than the hardware has, or an operation that no instruction performs.

use expect_test::expect;

use super::{MATMUL, check, check_file, check_short};

#[test]
fn threads() {
    let threads = |count: &str| MATMUL.replace("threads 128", &format!("threads {count}"));
    check_file(
        &threads("2048"),
        expect![[r#"
            exit 1
            --- stderr
            a.hx:5:13: error[HX0502]: found 2048 threads, expected at most 1024
            1 error
        "#]],
    );
    check_file(
        &threads("100"),
        expect![[r#"
            exit 1
            --- stderr
            a.hx:5:13: error[HX0506]: found 100 threads, expected a multiple of 32
            1 error
        "#]],
    );
    check_file(
        &threads("0"),
        expect![[r#"
            exit 1
            --- stderr
            a.hx:5:13: error[HX0506]: found 0 threads, expected a multiple of 32
            1 error
        "#]],
    );
    check_file(
        &threads("-32"),
        expect![[r#"
            exit 1
            --- stderr
            a.hx:5:13: error[HX0506]: found -32 threads, expected a multiple of 32
            1 error
        "#]],
    );
    check_file(
        &threads("k"),
        expect![[r#"
            exit 1
            --- stderr
            a.hx:5:13: error[HX0209]: expected a compile-time value, found `k`, which is known only at launch
            1 error
        "#]],
    );
    check_file(
        &threads(""),
        expect![[r#"
        exit 1
        --- stderr
        a.hx:5:12: error[HX0001]: found `{` where an expression was expected
        1 error
    "#]],
    );
}

#[test]
fn too_much_shared_memory() {
    let text = MATMUL.replace("shared_tensor(f16, [BM, BN])", "shared_tensor(f16, [BM, BN, 32])");
    let text = text.replace("copy(cast(rc, f16), sc)", "copy(cast(rc, f16), sc[.., .., 0])");
    let text = text.replace("copy(sc, rc1)", "copy(sc[.., .., 0], rc1)");
    check(
        &text,
        &["check", "a.hx"],
        expect![[r#"
            exit 1
            --- stderr
            error[HX0501]: the block needs 262144 B of shared memory, and sm_90a has 232448 B
                ╭─[ a.hx:20:14 ]
                │
             20 │     let sc = shared_tensor(f16, [BM, BN, 32]);
                │              ────────────────┬───────────────
                │                              ╰───────────────── `sc` takes 262144 B
                │
                │ Help 1: let `BM` be 32
                │         2 - kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
                │         2 + kernel matmul<BM = 32, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
                │
                │ Help 2: let `BN` be 32
                │         2 - kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
                │         2 + kernel matmul<BM = 64, BN = 32, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
            ────╯

            1 error
        "#]],
    );
}

#[test]
fn too_many_registers() {
    check_file(
        &MATMUL.replace("BM = 64, BN = 64", "BM = 256, BN = 256"),
        expect![[r#"
            exit 0
            --- stderr
            a.hx:12:14: performance[HX0503]: `rc` takes 512 registers of each thread, which has 255 on sm_90a
            a.hx:21:10: performance[HX0503]: `rc_f16` takes 256 registers of each thread, which has 255 on sm_90a
            a.hx:23:15: performance[HX0503]: `rc1` takes 256 registers of each thread, which has 255 on sm_90a
            checked 1 file for sm_90a: no errors, 3 performance notes
        "#]],
    );
}

/// No matrix instruction divides 20 steps along K, so the solver uses plain multiply-adds, which allow any number.
#[test]
fn a_step_along_k_that_no_matrix_instruction_has() {
    check_short(
        MATMUL,
        &["check", "a.hx", "--emit", "layouts", "--set", "BK=20"],
        expect![[r#"
            exit 0
            --- stdout
            kernel matmul threads 128
            rc: register f32[64, 64] = ((8,16),(4,8)):((1,64),(1024,8))
                accumulator fragment of `fma.f32.f16` (#9)
            sc: shared f16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
                the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            rc_f16: register f16[64, 64] = ((8,16),(4,8)):((1,64),(1024,8))
                elementwise: as its operand (#10)
            rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
                coalesced along dimension 1 of `c` (#14)
            ra: shared f16[64, 20] = (64,(4,5)):(4,(1,256)), 2560 B at 8192
                the accesses unify to `(64,(2,10)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#2, #7)
            ra_tile: register f16[64, 20] = ((8,16),(8,20)):((1,0),(8,64))
                A fragment of `fma.f32.f16` (#9)
            rb: shared f16[64, 20] = (64,(4,5)):(4,(1,256)), 2560 B at 10752
                the accesses unify to `(64,(2,10)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#3, #8)
            rb_tile: register f16[64, 20] = ((8,16),(4,20)):((0,1),(16,64))
                B fragment of `fma.f32.f16` (#9)
            #2 copy_async(a[block_idx.x * 64 + 0..64, ki * 20 + 0..20], ra[0..64, 0..20]): cp.async.ca.4, 4 B an access, no bank conflicts
                asks for `(64,(2,10)):(D,(1,D))`; `cp.async.ca.8` fits too and costs more
            #3 copy_async(b[block_idx.y * 64 + 0..64, ki * 20 + 0..20], rb[0..64, 0..20]): cp.async.ca.4, 4 B an access, no bank conflicts
                asks for `(64,(2,10)):(D,(1,D))`; `cp.async.ca.8` fits too and costs more
            #7 copy(ra[0..64, 0..20], ra_tile): ld.shared.b16, 2 B an access, no bank conflicts
                asks for `(64,20):(D,D)`; each thread holds 1 element in a row
            #8 copy(rb[0..64, 0..20], rb_tile): ld.shared.b16, 2 B an access, no bank conflicts
                asks for `(64,20):(D,D)`; each thread holds 1 element in a row
            #9 gemm(rc, ra_tile, rb_tile): fma.f32.f16, 8×16 across the block, 8×4×20 each
                lowest estimated cost of the arrangements that fit: 8 along M, 16 along N; `mma.m16n8k16.f32.f16` takes 16 steps of K at once, and 20 is not a multiple; `mma.m16n8k8.f32.f16` takes 8 steps of K at once, and 20 is not a multiple
            #10 rc_f16 = cast(rc, f16): cvt.f16x2.f32
                2 elements at once into one register
            #11 copy(rc_f16, sc[0..64, 0..64]): st.shared.b16, 2 B an access, no bank conflicts
                asks for `(64,64):(D,D)`; each thread holds 1 element in a row
            #13 copy(sc[0..64, 0..64], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
                asks for `(64,(8,8)):(D,(1,D))`; the widest access
            #14 copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access
                the widest access
            shared memory: 13312 B
        "#]],
    );
    check_short(
        MATMUL,
        &["check", "a.hx", "--emit", "layouts", "--set", "BK=0"],
        expect![[r#"
        exit 1
        --- stderr
        a.hx:3:15: error[HX0217]: division by zero
    "#]],
    );
    check_short(
        MATMUL,
        &["check", "a.hx", "--emit", "layouts", "--set", "BM=-64"],
        expect![[r#"
            exit 1
            --- stderr
            a.hx:4:19: error[HX0217]: found the divisor `-64`, expected a positive one
        "#]],
    );
    check_short(
        MATMUL,
        &["check", "a.hx", "--emit", "layouts", "--set", "BM=f16"],
        expect![[r#"
            exit 1
            --- stderr
            a.hx:4:19: error[HX0203]: expected an integer, found the element type `f16`
        "#]],
    );
}

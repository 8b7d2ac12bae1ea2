//! `hx check --emit layouts`: the answer for the example, and its dependence on the arguments.

use expect_test::{Expect, expect};

use crate::support::Sandbox;

/// The text of the shipped matmul.
const TEXT: &str = include_str!("../std/matmul.hx");

/// Returns the layouts of the shipped kernel after some replacements in its text, with additional arguments.
fn layouts(replacements: &[(&str, &str)], args: &[&str]) -> String {
    let mut text = TEXT.to_owned();
    for (from, to) in replacements {
        assert!(text.contains(from), "std/matmul.hx no longer has `{from}`");
        text = text.replace(from, to);
    }
    let sandbox = Sandbox::with("matmul.hx", &text);
    let ran = sandbox.run(&[&["check", "matmul.hx", "--emit", "layouts"], args].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.text());
    ran.stdout
}

/// Compares the lines that differ from the shipped kernel's layouts: `-` for its own, `+` for those of the changed kernel.
fn check_change(replacements: &[(&str, &str)], args: &[&str], expected: Expect) {
    expected.assert_eq(&difference(&layouts(&[], &[]), &layouts(replacements, args)));
}

/// Returns the lines outside a longest common subsequence.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // `common[i][j]` is the length of the longest common subsequence of `old[i..]` and `new[j..]`.
    let mut common = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut text) = (0, 0, String::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            text.push_str(&format!("- {}\n", old[i]));
            i += 1;
        } else {
            text.push_str(&format!("+ {}\n", new[j]));
            j += 1;
        }
    }
    text
}

#[test]
fn the_example() {
    expect![[r#"
        kernel matmul threads 128
        rc: register f32[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            accumulator fragment of `wgmma.m64n64k16.f32.f16` (#9)
        sc: shared f16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
            the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
        rc_f16: register f16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            elementwise: as its operand (#10)
        rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
            coalesced along dimension 1 of `c` (#14)
        ra: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 8192
            32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
        rb: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 10240
            32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
        #2 copy_async(a[block_idx.x * 64 + 0..64, ki * 16 + 0..16], ra[0..64, 0..16]): cp.async.cg.16, 16 B an access, no bank conflicts
            asks for `(64,(8,2)):(D,(1,D))`; the widest access
        #3 copy_async(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb[0..64, 0..16]): cp.async.cg.16, 16 B an access, no bank conflicts
            asks for `(64,(8,2)):(D,(1,D))`; the widest access
        #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each
            lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
        #10 rc_f16 = cast(rc, f16): cvt.f16x2.f32
            2 elements at once into one register
        #11 copy(rc_f16, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
            asks for `(64,(8,8)):(D,(1,D))`; the widest access
        #13 copy(sc[0..64, 0..64], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
            asks for `(64,(8,8)):(D,(1,D))`; the widest access
        #14 copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access
            the widest access
        shared memory: 12288 B
    "#]].assert_eq(&layouts(&[], &[]));
}

#[test]
fn a_smaller_tile() {
    check_change(
        &[],
        &["--set", "BN=32"],
        expect![[r#"
            - rc: register f32[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            -     accumulator fragment of `wgmma.m64n64k16.f32.f16` (#9)
            - sc: shared f16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
            -     the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            - rc_f16: register f16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            + rc: register f32[64, 32] = ((4,8,4),(2,2,4)):((128,1,16),(64,8,512))
            +     accumulator fragment of `wgmma.m64n32k16.f32.f16` (#9)
            + sc: shared f16[64, 32] = swizzle<2, 3, 3> ∘ (64,32):(32,1), 4096 B at 0
            +     the accesses unify to `(64,(8,4)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            + rc_f16: register f16[64, 32] = ((4,8,4),(2,2,4)):((128,1,16),(64,8,512))
            - rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
            + rc1: register f16[64, 32] = ((4,32),(8,2)):((512,1),(64,32))
            - ra: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 8192
            -     32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
            - rb: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 10240
            -     32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
            + ra: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 4096
            +     32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n32k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
            + rb: shared f16[32, 16] = swizzle<1, 3, 3> ∘ (32,16):(16,1), 1024 B at 6144
            +     32 B swizzle: `cp.async.ca.8` of `b` and `wgmma.m64n32k16.f32.f16` of `rc` agree on `(32,16):(16,1)` (#3, #9)
            - #3 copy_async(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb[0..64, 0..16]): cp.async.cg.16, 16 B an access, no bank conflicts
            -     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            - #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each
            -     lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            + #3 copy_async(b[block_idx.y * 32 + 0..32, ki * 16 + 0..16], rb[0..32, 0..16]): cp.async.ca.8, 8 B an access, no bank conflicts
            +     asks for `(32,(4,4)):(D,(1,D))`; `cp.async.cg.16` fits too and costs more
            + #9 gemm(rc, ra[0..64, 0..16], rb[0..32, 0..16]): wgmma.m64n32k16.f32.f16, 1×1 across the block, 1×1×1 each
            +     lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 32: fewest shared bytes (3072 B for 64×32 results)
            - #11 copy(rc_f16, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
            -     asks for `(64,(8,8)):(D,(1,D))`; the widest access
            - #13 copy(sc[0..64, 0..64], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
            -     asks for `(64,(8,8)):(D,(1,D))`; the widest access
            - #14 copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access
            + #11 copy(rc_f16, sc[0..64, 0..32]): stmatrix.x4, 16 B an access, no bank conflicts
            +     asks for `(64,(8,4)):(D,(1,D))`; the widest access
            + #13 copy(sc[0..64, 0..32], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
            +     asks for `(64,(8,4)):(D,(1,D))`; the widest access
            + #14 copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 32 + 0..32]): st.global.v4.b32, 16 B an access
            - shared memory: 12288 B
            + shared memory: 7168 B
        "#]],
    );
}

/// 80 columns are not a power of two: each warp has five fragments, and the layout of shared memory has blocks of 8 columns.
#[test]
fn a_tile_that_is_no_power_of_two() {
    check_change(
        &[],
        &["--set", "BM=96", "--set", "BN=80", "--set", "BK=48"],
        expect![[r#"
            - rc: register f32[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            -     accumulator fragment of `wgmma.m64n64k16.f32.f16` (#9)
            - sc: shared f16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
            -     the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            - rc_f16: register f16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            + rc: register f32[96, 80] = ((4,8,2,2),(2,2,5,3)):((192,1,16,768),(96,8,1536,32))
            +     accumulator fragment of `mma.m16n8k16.f32.f16` (#9)
            + sc: shared f16[96, 80] = swizzle<3, 3, 4> ∘ (96,(8,10)):(8,(1,768)), 16384 B at 0
            +     the accesses unify to `(96,(8,10)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            + rc_f16: register f16[96, 80] = ((4,8,2,2),(2,2,5,3)):((192,1,16,768),(96,8,1536,32))
            - rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
            + rc1: register f16[96, 80] = ((4,32),(8,3,3)):((768,1),(96,3072,32)) over [96, 96]
            - ra: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 8192
            -     32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
            - rb: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 10240
            -     32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
            - #2 copy_async(a[block_idx.x * 64 + 0..64, ki * 16 + 0..16], ra[0..64, 0..16]): cp.async.cg.16, 16 B an access, no bank conflicts
            -     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            - #3 copy_async(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb[0..64, 0..16]): cp.async.cg.16, 16 B an access, no bank conflicts
            -     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            - #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each
            -     lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            + ra: shared f16[96, 48] = swizzle<1, 3, 3> ∘ (96,48):(48,1), 9216 B at 16384
            +     the accesses unify to `(96,(8,6)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#2, #7)
            + ra_tile: register f16[96, 48] = ((4,8,2,2),(2,2,2,3,3)):((192,1,16,0),(96,8,768,32,1536))
            +     A fragment of `mma.m16n8k16.f32.f16` (#9)
            + rb: shared f16[80, 48] = swizzle<1, 3, 3> ∘ (80,48):(48,1), 7680 B at 25600
            +     the accesses unify to `(80,(8,6)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#3, #8)
            + rb_tile: register f16[80, 48] = ((4,8,2,2),(2,2,5,3)):((160,1,0,8),(80,640,16,1280))
            +     B fragment of `mma.m16n8k16.f32.f16` (#9)
            + #2 copy_async(a[block_idx.x * 96 + 0..96, ki * 48 + 0..48], ra[0..96, 0..48]): cp.async.cg.16, 16 B an access, no bank conflicts
            +     asks for `(96,(8,6)):(D,(1,D))`; the widest access; 6 rounds of 128 threads are partly filled with 576 accesses
            + #3 copy_async(b[block_idx.y * 80 + 0..80, ki * 48 + 0..48], rb[0..80, 0..48]): cp.async.cg.16, 16 B an access, no bank conflicts
            +     asks for `(80,(8,6)):(D,(1,D))`; the widest access; 5 rounds of 128 threads are partly filled with 480 accesses
            + #7 copy(ra[0..96, 0..48], ra_tile): ldmatrix.x4, 16 B an access, no bank conflicts
            +     asks for `(96,(8,6)):(D,(1,D))`; the widest access
            + #8 copy(rb[0..80, 0..48], rb_tile): ldmatrix.x2, 16 B an access, no bank conflicts
            +     asks for `(80,(8,6)):(D,(1,D))`; the widest access
            + #9 gemm(rc, ra_tile, rb_tile): mma.m16n8k16.f32.f16, 2×2 across the block, 3×5×3 each
            +     lowest estimated cost of the arrangements that fit: 2 along M, 2 along N
            - #11 copy(rc_f16, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
            -     asks for `(64,(8,8)):(D,(1,D))`; the widest access
            - #13 copy(sc[0..64, 0..64], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
            -     asks for `(64,(8,8)):(D,(1,D))`; the widest access
            - #14 copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access
            + #11 copy(rc_f16, sc[0..96, 0..80]): stmatrix.x2, 16 B an access, no bank conflicts
            +     asks for `(96,(8,10)):(D,(1,D))`; the widest access
            + #13 copy(sc[0..96, 0..80], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
            +     asks for `(96,(8,10)):(D,(1,D))`; the widest access
            + #14 copy(rc1, c[block_idx.x * 96 + 0..96, block_idx.y * 80 + 0..80]): st.global.v4.b32, 16 B an access
            - shared memory: 12288 B
            + shared memory: 33280 B
        "#]],
    );
}

/// 24 is not a multiple of 16, so the solver chooses an instruction with 8 steps along K.
#[test]
fn another_step_along_k() {
    check_change(
        &[],
        &["--set", "BK=24"],
        expect![[r#"
            - rc: register f32[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            -     accumulator fragment of `wgmma.m64n64k16.f32.f16` (#9)
            + rc: register f32[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
            +     accumulator fragment of `mma.m16n8k8.f32.f16` (#9)
            - rc_f16: register f16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            + rc_f16: register f16[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
            - ra: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 8192
            -     32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
            - rb: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 10240
            -     32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
            - #2 copy_async(a[block_idx.x * 64 + 0..64, ki * 16 + 0..16], ra[0..64, 0..16]): cp.async.cg.16, 16 B an access, no bank conflicts
            -     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            - #3 copy_async(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb[0..64, 0..16]): cp.async.cg.16, 16 B an access, no bank conflicts
            -     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            - #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each
            -     lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            + ra: shared f16[64, 24] = swizzle<2, 3, 3> ∘ (64,24):(32,1), 4096 B at 8192
            +     the accesses unify to `(64,(8,3)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#2, #7)
            + ra_tile: register f16[64, 24] = ((4,8,2,2),(2,2,2,3)):((128,1,16,0),(64,8,32,512))
            +     A fragment of `mma.m16n8k8.f32.f16` (#9)
            + rb: shared f16[64, 24] = swizzle<2, 3, 3> ∘ (64,24):(32,1), 4096 B at 12288
            +     the accesses unify to `(64,(8,3)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#3, #8)
            + rb_tile: register f16[64, 24] = ((4,8,2,2),(2,4,3)):((128,1,0,8),(64,16,512))
            +     B fragment of `mma.m16n8k8.f32.f16` (#9)
            + #2 copy_async(a[block_idx.x * 64 + 0..64, ki * 24 + 0..24], ra[0..64, 0..24]): cp.async.cg.16, 16 B an access, no bank conflicts
            +     asks for `(64,(8,3)):(D,(1,D))`; the widest access; 2 rounds of 128 threads are partly filled with 192 accesses
            + #3 copy_async(b[block_idx.y * 64 + 0..64, ki * 24 + 0..24], rb[0..64, 0..24]): cp.async.cg.16, 16 B an access, no bank conflicts
            +     asks for `(64,(8,3)):(D,(1,D))`; the widest access; 2 rounds of 128 threads are partly filled with 192 accesses
            + #7 copy(ra[0..64, 0..24], ra_tile): ldmatrix.x4, 16 B an access, no bank conflicts
            +     asks for `(64,(8,3)):(D,(1,D))`; the widest access
            + #8 copy(rb[0..64, 0..24], rb_tile): ldmatrix.x4, 16 B an access, no bank conflicts
            +     asks for `(64,(8,3)):(D,(1,D))`; the widest access
            + #9 gemm(rc, ra_tile, rb_tile): mma.m16n8k8.f32.f16, 2×2 across the block, 2×4×3 each
            +     lowest estimated cost of the arrangements that fit: 2 along M, 2 along N
            - shared memory: 12288 B
            + shared memory: 16384 B
        "#]],
    );
}

#[test]
fn another_number_of_threads() {
    check_change(
        &[("threads 128", "threads 64")],
        &[],
        expect![[r#"
            - kernel matmul threads 128
            - rc: register f32[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            -     accumulator fragment of `wgmma.m64n64k16.f32.f16` (#9)
            + kernel matmul threads 64
            + rc: register f32[64, 64] = ((4,8,2),(2,2,4,4)):((128,1,512),(64,8,1024,16))
            +     accumulator fragment of `mma.m16n8k16.f32.f16` (#9)
            - rc_f16: register f16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            + rc_f16: register f16[64, 64] = ((4,8,2),(2,2,4,4)):((128,1,512),(64,8,1024,16))
            - rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
            + rc1: register f16[64, 64] = ((8,8),(8,8)):((512,1),(64,8))
            -     32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
            +     the accesses unify to `(64,(8,2)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#2, #7)
            + ra_tile: register f16[64, 16] = ((4,8,2),(2,2,2,4)):((128,1,0),(64,8,512,16))
            +     A fragment of `mma.m16n8k16.f32.f16` (#9)
            -     32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
            +     the accesses unify to `(64,(8,2)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#3, #8)
            + rb_tile: register f16[64, 16] = ((4,8,2),(2,2,4)):((128,1,8),(64,512,16))
            +     B fragment of `mma.m16n8k16.f32.f16` (#9)
            - #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each
            -     lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            + #7 copy(ra[0..64, 0..16], ra_tile): ldmatrix.x4, 16 B an access, no bank conflicts
            +     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            + #8 copy(rb[0..64, 0..16], rb_tile): ldmatrix.x4, 16 B an access, no bank conflicts
            +     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            + #9 gemm(rc, ra_tile, rb_tile): mma.m16n8k16.f32.f16, 1×2 across the block, 4×4×1 each
            +     lowest estimated cost of the arrangements that fit: 1 along M, 2 along N
        "#]],
    );
}

/// Three warps side by side hold 72 columns; the columns beyond the tile's 64 are never stored.
#[test]
fn threads_that_do_not_divide_the_tile() {
    check_change(
        &[("threads 128", "threads 96")],
        &[],
        expect![[r#"
            - kernel matmul threads 128
            - rc: register f32[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            -     accumulator fragment of `wgmma.m64n64k16.f32.f16` (#9)
            + kernel matmul threads 96
            + rc: register f32[64, 64] = ((4,8,3),(2,2,3,4)):((128,1,512),(64,8,1536,16)) over [64, 72]
            +     accumulator fragment of `mma.m16n8k16.f32.f16` (#9)
            -     the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            - rc_f16: register f16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            +     the accesses unify to `(64,(2,4,8)):(D,(1,2,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            + rc_f16: register f16[64, 64] = ((4,8,3),(2,2,3,4)):((128,1,512),(64,8,1536,16)) over [64, 72]
            - rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
            + rc1: register f16[64, 64] = ((8,12),(8,6)):((576,1),(72,12)) over [72, 64]
            -     32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
            - rb: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 10240
            -     32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
            - #2 copy_async(a[block_idx.x * 64 + 0..64, ki * 16 + 0..16], ra[0..64, 0..16]): cp.async.cg.16, 16 B an access, no bank conflicts
            -     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            - #3 copy_async(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb[0..64, 0..16]): cp.async.cg.16, 16 B an access, no bank conflicts
            +     the accesses unify to `(64,(4,2,2)):(D,(1,4,D))`; fewest wavefronts of the orders and swizzles (#2, #7)
            + ra_tile: register f16[64, 16] = ((4,8,3),(2,2,2,4)):((128,1,0),(64,8,512,16))
            +     A fragment of `mma.m16n8k16.f32.f16` (#9)
            + rb: shared f16[64, 16] = swizzle<2, 2, 3> ∘ (64,16):(16,1), 2048 B at 10240
            +     the accesses unify to `(64,(2,2,4)):(D,(1,2,D))`; fewest wavefronts of the orders and swizzles (#3, #8)
            + rb_tile: register f16[64, 16] = ((4,8,3),(2,2,3)):((144,1,8),(72,576,24)) over [72, 16]
            +     B fragment of `mma.m16n8k16.f32.f16` (#9)
            + #2 copy_async(a[block_idx.x * 64 + 0..64, ki * 16 + 0..16], ra[0..64, 0..16]): cp.async.ca.8, 8 B an access, no bank conflicts
            +     asks for `(64,(4,4)):(D,(1,D))`; `cp.async.cg.16` fits too and costs more; the last of 3 rounds is partly filled: 64 of 96 threads copy
            + #3 copy_async(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb[0..64, 0..16]): cp.async.ca.8, 8 B an access, no bank conflicts
            +     asks for `(64,(4,4)):(D,(1,D))`; `cp.async.cg.16` fits too and costs more; the last of 3 rounds is partly filled: 64 of 96 threads copy
            + #7 copy(ra[0..64, 0..16], ra_tile): ldmatrix.x4, 16 B an access, no bank conflicts
            - #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each
            -     lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            + #8 copy(rb[0..64, 0..16], rb_tile): ld.shared.b32, 4 B an access, no bank conflicts
            +     asks for `(64,(2,8)):(D,(1,D))`; each thread holds 2 elements in a row
            + #9 gemm(rc, ra_tile, rb_tile): mma.m16n8k16.f32.f16, 1×3 across the block, 4×3×1 each
            +     lowest estimated cost of the arrangements that fit: 1 along M, 3 along N
            - #11 copy(rc_f16, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
            -     asks for `(64,(8,8)):(D,(1,D))`; the widest access
            + #11 copy(rc_f16, sc[0..64, 0..64]): st.shared.b32, 4 B an access, no bank conflicts
            +     asks for `(64,(2,32)):(D,(1,D))`; each thread holds 2 elements in a row
        "#]],
    );
}

#[test]
fn another_element_type_of_the_same_width() {
    check_change(
        &[("f16", "bf16")],
        &[],
        expect![[r#"
            -     accumulator fragment of `wgmma.m64n64k16.f32.f16` (#9)
            - sc: shared f16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
            +     accumulator fragment of `wgmma.m64n64k16.f32.bf16` (#9)
            + sc: shared bf16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
            - rc_f16: register f16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            + rc_bf16: register bf16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            - rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
            + rc1: register bf16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
            - ra: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 8192
            -     32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
            - rb: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 10240
            -     32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
            + ra: shared bf16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 8192
            +     32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n64k16.f32.bf16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
            + rb: shared bf16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 10240
            +     32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.bf16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
            - #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each
            + #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.bf16, 1×1 across the block, 1×1×1 each
            - #10 rc_f16 = cast(rc, f16): cvt.f16x2.f32
            + #10 rc_bf16 = cast(rc, bf16): cvt.bf16x2.f32
            - #11 copy(rc_f16, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
            + #11 copy(rc_bf16, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
        "#]],
    );
}

/// No tensor core multiplies f32 without first rounding it, so the solver uses plain multiply-adds.
#[test]
fn another_element_type() {
    check_change(
        &[("f16", "f32")],
        &[],
        expect![[r#"
            - rc: register f32[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            -     accumulator fragment of `wgmma.m64n64k16.f32.f16` (#9)
            - sc: shared f16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
            -     the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            - rc_f16: register f16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            + rc: register f32[64, 64] = ((8,16),(4,8)):((1,64),(1024,8))
            +     accumulator fragment of `fma.f32` (#9)
            + sc: shared f32[64, 64] = swizzle<3, 2, 4> ∘ (64,64):(64,1), 16384 B at 0
            +     the accesses unify to `(64,(4,16)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            + rc_f32: register f32[64, 64] = ((8,16),(4,8)):((1,64),(1024,8))
            - rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
            + rc1: register f32[64, 64] = ((16,8),(4,8)):((256,1),(64,8))
            - ra: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 8192
            -     32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
            - rb: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 10240
            -     32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
            + ra: shared f32[64, 16] = swizzle<2, 2, 3> ∘ (64,16):(16,1), 4096 B at 16384
            +     the accesses unify to `(64,(4,4)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#2, #7)
            + ra_tile: register f32[64, 16] = ((8,16),(8,16)):((1,0),(8,64))
            +     A fragment of `fma.f32` (#9)
            + rb: shared f32[64, 16] = (64,16):(16,1), 4096 B at 20480
            +     the accesses unify to `(64,(4,4)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#3, #8)
            + rb_tile: register f32[64, 16] = ((8,16),(4,16)):((0,1),(16,64))
            +     B fragment of `fma.f32` (#9)
            -     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            +     asks for `(64,(4,4)):(D,(1,D))`; the widest access
            -     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            - #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each
            -     lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            - #10 rc_f16 = cast(rc, f16): cvt.f16x2.f32
            -     2 elements at once into one register
            - #11 copy(rc_f16, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
            -     asks for `(64,(8,8)):(D,(1,D))`; the widest access
            +     asks for `(64,(4,4)):(D,(1,D))`; the widest access
            + #7 copy(ra[0..64, 0..16], ra_tile): ld.shared.v4.b32, 16 B an access, no bank conflicts
            +     asks for `(64,(4,4)):(D,(1,D))`; the widest access
            + #8 copy(rb[0..64, 0..16], rb_tile): ld.shared.v4.b32, 16 B an access, no bank conflicts
            +     asks for `(64,(4,4)):(D,(1,D))`; the widest access
            + #9 gemm(rc, ra_tile, rb_tile): fma.f32, 8×16 across the block, 8×4×16 each
            +     lowest estimated cost of the arrangements that fit: 8 along M, 16 along N
            + #10 rc_f32 = cast(rc, f32): move
            +     one element at once
            + #11 copy(rc_f32, sc[0..64, 0..64]): st.shared.b32, 4 B an access, no bank conflicts
            +     asks for `(64,64):(D,D)`; each thread holds 1 element in a row
            -     asks for `(64,(8,8)):(D,(1,D))`; the widest access
            +     asks for `(64,(4,16)):(D,(1,D))`; the widest access
            - shared memory: 12288 B
            + shared memory: 24576 B
        "#]],
    );
}

/// Neighbouring elements of a fragment of `b` are no longer adjacent in memory.
#[test]
fn another_memory_layout_of_b() {
    let header = ("b: f16[n, k]", "b: f16[n, k] : [1, ldb]");
    let view = ("(BN, BK, k / BK) : (k, 1, BK)", "(BN, BK, k / BK) : (1, ldb, BK * ldb)");
    check_change(
        &[header, view],
        &[],
        expect![[r#"
            - rb: shared f16[64, 16] = swizzle<1, 3, 3> ∘ (64,16):(16,1), 2048 B at 10240
            -     32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
            + rb: shared f16[64, 16] = swizzle<3, 3, 3> ∘ (64,16):(1,64), 2048 B at 10240
            +     128 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(1,64)` (#3, #9)
            -     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            +     asks for `((8,8),16):((1,D),D)`; the widest access
        "#]],
    );
}

/// Before sm_90 no instruction stores whole matrices.
#[test]
fn another_target() {
    check_change(
        &[],
        &["--target", "sm_80"],
        expect![[r#"
            - rc: register f32[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            -     accumulator fragment of `wgmma.m64n64k16.f32.f16` (#9)
            + rc: register f32[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
            +     accumulator fragment of `mma.m16n8k16.f32.f16` (#9)
            -     the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            - rc_f16: register f16[64, 64] = ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))
            +     the accesses unify to `(64,(2,4,8)):(D,(1,2,D))`; fewest wavefronts of the orders and swizzles (#11, #13)
            + rc_f16: register f16[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
            -     32 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#2, #9)
            +     the accesses unify to `(64,(8,2)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#2, #7)
            + ra_tile: register f16[64, 16] = ((4,8,2,2),(2,2,2,2)):((128,1,16,0),(64,8,512,32))
            +     A fragment of `mma.m16n8k16.f32.f16` (#9)
            -     32 B swizzle: `cp.async.cg.16` of `b` and `wgmma.m64n64k16.f32.f16` of `rc` agree on `(64,16):(16,1)` (#3, #9)
            +     the accesses unify to `(64,(8,2)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#3, #8)
            + rb_tile: register f16[64, 16] = ((4,8,2,2),(2,2,4)):((128,1,0,8),(64,512,16))
            +     B fragment of `mma.m16n8k16.f32.f16` (#9)
            - #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each
            -     lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            + #7 copy(ra[0..64, 0..16], ra_tile): ldmatrix.x4, 16 B an access, no bank conflicts
            +     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            + #8 copy(rb[0..64, 0..16], rb_tile): ldmatrix.x4, 16 B an access, no bank conflicts
            +     asks for `(64,(8,2)):(D,(1,D))`; the widest access
            + #9 gemm(rc, ra_tile, rb_tile): mma.m16n8k16.f32.f16, 2×2 across the block, 2×4×1 each
            +     lowest estimated cost of the arrangements that fit: 2 along M, 2 along N
            - #11 copy(rc_f16, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
            -     asks for `(64,(8,8)):(D,(1,D))`; the widest access
            + #11 copy(rc_f16, sc[0..64, 0..64]): st.shared.b32, 4 B an access, no bank conflicts
            +     asks for `(64,(2,32)):(D,(1,D))`; each thread holds 2 elements in a row
        "#]],
    );
}

/// Weights of 4 bits are widened in registers. Each thread holds runs along K that fill whole accesses of the packed tensor, and
/// the other operand has the same runs.
#[test]
fn packed_weights() {
    let text = "\
kernel widened<BN = 64, BM = 16, BK = 64>(w: u4[n, k], x: f16[m, k], y: mut f32[n, m])
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 64
{
    let [bn, bm] = block_idx;
    let sw = shared_tensor(u4, [BN, BK]);
    let sx = shared_tensor(f16, [BM, BK]);
    let acc = register_tensor(f32, [BN, BM]);
    fill(acc, 0.0);
    for ki in 0..cdiv(k, BK) {
        copy(tile(w, [BN, BK])[.., .., bn, ki], sw);
        copy(tile(x, [BM, BK])[.., .., bm, ki], sx);
        sync();
        let rw = load(sw);
        gemm(acc, cast(rw, f16), sx);
        sync();
    }
    copy(acc, tile(y, [BN, BM])[.., .., bn, bm]);
}
";
    let sandbox = Sandbox::with("widened.hx", text);
    let ran = sandbox.run(&["check", "widened.hx", "--emit", "layouts"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.text());
    let of_gemm =
        |line: &&str| ["rw", "#6", "#7", "#8", "#9", "sx_tile"].iter().any(|name| line.starts_with(name));
    let lines: Vec<&str> = ran.stdout.lines().filter(of_gemm).collect();
    expect![[r#"
        rw: register u4[64, 64] = ((4,8,2),(16,2,2)):((1024,1,16),(64,8,32))
        rw_f16: register f16[64, 64] = ((4,8,2),(16,2,2)):((1024,1,16),(64,8,32))
        sx_tile: register f16[16, 64] = ((4,8,2),(16,2)):((256,1,0),(16,8))
        #6 copy(sw[0..64, 0..64], rw): ld.shared.v2.b32, 8 B an access, no bank conflicts
        #7 rw_f16 = cast(rw, f16): cvt.f16x8.u4
        #8 copy(sx[0..16, 0..64], sx_tile): ld.shared.v4.b32, 16 B an access, no bank conflicts
        #9 gemm(acc, rw_f16, sx_tile): mma.m16n8k16.f32.f16, 2×1 across the block, 2×2×4 each"#]]
    .assert_eq(&lines.join("\n"));
}

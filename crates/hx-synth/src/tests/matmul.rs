//! Solves the matmul of the language's first page: layouts, widths and reasons, and how changes of the program affect them.

use expect_test::{Expect, expect};
use hx_tile::emit_layouts;

use super::build::{Matmul, matmul};
use crate::{Solved, solve};

fn check(config: Matmul, expected: Expect) {
    let program = matmul(&config);
    let text = match solve(&program, &|| false) {
        Ok(Solved { program: whole, solution, .. }) => {
            assert_eq!(hx_verify::verify(&program, &whole, &solution), []);
            emit_layouts(&whole, &solution)
        }
        Err(failure) => format!("{failure:#?}"),
    };
    expected.assert_eq(&text);
}

#[test]
fn the_example() {
    check(
        Matmul::default(),
        expect![[r#"
            kernel matmul threads 128
            ra: register f16[64, 16] = ((4,8,2,2),(2,2,2,2)):((128,1,16,0),(64,8,512,32))
                A fragment of `mma.m16n8k16.f32.f16` (#3)
            rb: register f16[64, 16] = ((4,8,2,2),(2,2,4)):((128,1,0,8),(64,512,16))
                B fragment of `mma.m16n8k16.f32.f16` (#3)
            rc: register f32[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
                accumulator fragment of `mma.m16n8k16.f32.f16` (#3)
            sc: shared f16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
                the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#5, #7)
            rc_cast: register f16[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
                elementwise: as its operand (#4)
            rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
                coalesced along dimension 1 of `c` (#8)
            #1 copy(a[block_idx.x * 64 + 0..64, ki * 16 + 0..16], ra): ld.global.b32, 4 B an access
                4 B: each thread holds 2 neighbours along the contiguous dimension
            #2 copy(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb): ld.global.b32, 4 B an access
                4 B: each thread holds 2 neighbours along the contiguous dimension
            #3 gemm(rc, ra, rb): mma.m16n8k16.f32.f16, 2×2 across the block, 2×4×1 each
                lowest estimated cost of the arrangements that fit: 2 along M, 2 along N
            #4 rc_cast = cast(rc, f16): cvt.f16x2.f32
                2 elements at once into one register
            #5 copy(rc_cast, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
                asks for `(64,(8,8)):(D,(1,D))`; the widest access
            #7 copy(sc[0..64, 0..64], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
                asks for `(64,(8,8)):(D,(1,D))`; the widest access
            #8 copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access
                the widest access
            shared memory: 8192 B
        "#]],
    );
}

#[test]
fn tiles_that_are_no_powers_of_two() {
    check(
        Matmul { tile: [96, 80, 48], ..Matmul::default() },
        expect![[r#"
            kernel matmul threads 128
            ra: register f16[96, 48] = ((4,8,2,2),(2,2,2,3,3)):((192,1,16,0),(96,8,768,32,1536))
                A fragment of `mma.m16n8k16.f32.f16` (#3)
            rb: register f16[80, 48] = ((4,8,2,2),(2,2,5,3)):((160,1,0,8),(80,640,16,1280))
                B fragment of `mma.m16n8k16.f32.f16` (#3)
            rc: register f32[96, 80] = ((4,8,2,2),(2,2,5,3)):((192,1,16,768),(96,8,1536,32))
                accumulator fragment of `mma.m16n8k16.f32.f16` (#3)
            sc: shared f16[96, 80] = swizzle<3, 3, 4> ∘ (96,(8,10)):(8,(1,768)), 16384 B at 0
                the accesses unify to `(96,(8,10)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#5, #7)
            rc_cast: register f16[96, 80] = ((4,8,2,2),(2,2,5,3)):((192,1,16,768),(96,8,1536,32))
                elementwise: as its operand (#4)
            rc1: register f16[96, 80] = ((4,32),(8,3,3)):((768,1),(96,3072,32)) over [96, 96]
                coalesced along dimension 1 of `c` (#8)
            #1 copy(a[block_idx.x * 96 + 0..96, ki * 48 + 0..48], ra): ld.global.b32, 4 B an access
                4 B: each thread holds 2 neighbours along the contiguous dimension
            #2 copy(b[block_idx.y * 80 + 0..80, ki * 48 + 0..48], rb): ld.global.b32, 4 B an access
                4 B: each thread holds 2 neighbours along the contiguous dimension
            #3 gemm(rc, ra, rb): mma.m16n8k16.f32.f16, 2×2 across the block, 3×5×3 each
                lowest estimated cost of the arrangements that fit: 2 along M, 2 along N
            #4 rc_cast = cast(rc, f16): cvt.f16x2.f32
                2 elements at once into one register
            #5 copy(rc_cast, sc[0..96, 0..80]): stmatrix.x2, 16 B an access, no bank conflicts
                asks for `(96,(8,10)):(D,(1,D))`; the widest access
            #7 copy(sc[0..96, 0..80], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
                asks for `(96,(8,10)):(D,(1,D))`; the widest access
            #8 copy(rc1, c[block_idx.x * 96 + 0..96, block_idx.y * 80 + 0..80]): st.global.v4.b32, 16 B an access
                the widest access
            shared memory: 16384 B
        "#]],
    );
}

#[test]
fn threads_that_do_not_divide_the_tile() {
    check(
        Matmul { threads: 96, ..Matmul::default() },
        expect![[r#"
        kernel matmul threads 96
        ra: register f16[64, 16] = ((4,8,3),(2,2,2,4)):((128,1,0),(64,8,512,16))
            A fragment of `mma.m16n8k16.f32.f16` (#3)
        rb: register f16[64, 16] = ((4,8,3),(2,2,3)):((144,1,8),(72,576,24)) over [72, 16]
            B fragment of `mma.m16n8k16.f32.f16` (#3)
        rc: register f32[64, 64] = ((4,8,3),(2,2,3,4)):((128,1,512),(64,8,1536,16)) over [64, 72]
            accumulator fragment of `mma.m16n8k16.f32.f16` (#3)
        sc: shared f16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
            the accesses unify to `(64,(2,4,8)):(D,(1,2,D))`; fewest wavefronts of the orders and swizzles (#5, #7)
        rc_cast: register f16[64, 64] = ((4,8,3),(2,2,3,4)):((128,1,512),(64,8,1536,16)) over [64, 72]
            elementwise: as its operand (#4)
        rc1: register f16[64, 64] = ((8,12),(8,6)):((576,1),(72,12)) over [72, 64]
            coalesced along dimension 1 of `c` (#8)
        #1 copy(a[block_idx.x * 64 + 0..64, ki * 16 + 0..16], ra): ld.global.b32, 4 B an access
            4 B: each thread holds 2 neighbours along the contiguous dimension
        #2 copy(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb): ld.global.b32, 4 B an access
            4 B: each thread holds 2 neighbours along the contiguous dimension
        #3 gemm(rc, ra, rb): mma.m16n8k16.f32.f16, 1×3 across the block, 4×3×1 each
            lowest estimated cost of the arrangements that fit: 1 along M, 3 along N
        #4 rc_cast = cast(rc, f16): cvt.f16x2.f32
            2 elements at once into one register
        #5 copy(rc_cast, sc[0..64, 0..64]): st.shared.b32, 4 B an access, no bank conflicts
            asks for `(64,(2,32)):(D,(1,D))`; each thread holds 2 elements in a row
        #7 copy(sc[0..64, 0..64], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
            asks for `(64,(8,8)):(D,(1,D))`; the widest access
        #8 copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access
            the widest access
        shared memory: 8192 B
    "#]],
    );
}

#[test]
fn a_transposed_operand() {
    check(
        Matmul { b_transposed: true, ..Matmul::default() },
        expect![[r#"
            kernel matmul threads 128
            ra: register f16[64, 16] = ((4,8,2,2),(2,2,2,2)):((128,1,16,0),(64,8,512,32))
                A fragment of `mma.m16n8k16.f32.f16` (#3)
            rb: register f16[64, 16] = ((4,8,2,2),(2,2,4)):((128,1,0,8),(64,512,16))
                B fragment of `mma.m16n8k16.f32.f16` (#3)
            rc: register f32[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
                accumulator fragment of `mma.m16n8k16.f32.f16` (#3)
            sc: shared f16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
                the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#5, #7)
            rc_cast: register f16[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
                elementwise: as its operand (#4)
            rc1: register f16[64, 64] = ((8,16),(8,4)):((512,1),(64,16))
                coalesced along dimension 1 of `c` (#8)
            #1 copy(a[block_idx.x * 64 + 0..64, ki * 16 + 0..16], ra): ld.global.b32, 4 B an access
                4 B: each thread holds 2 neighbours along the contiguous dimension
            #2 copy(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb): ld.global.b16, 2 B an access
                2 B: each thread holds 1 neighbour along the contiguous dimension
            #3 gemm(rc, ra, rb): mma.m16n8k16.f32.f16, 2×2 across the block, 2×4×1 each
                lowest estimated cost of the arrangements that fit: 2 along M, 2 along N
            #4 rc_cast = cast(rc, f16): cvt.f16x2.f32
                2 elements at once into one register
            #5 copy(rc_cast, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
                asks for `(64,(8,8)):(D,(1,D))`; the widest access
            #7 copy(sc[0..64, 0..64], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
                asks for `(64,(8,8)):(D,(1,D))`; the widest access
            #8 copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access
                the widest access
            shared memory: 8192 B
        "#]],
    );
}

#[test]
fn an_odd_dimension_narrows_the_store() {
    check(
        Matmul { divisor: [1, 2, 16], ..Matmul::default() },
        expect![[r#"
            kernel matmul threads 128
            ra: register f16[64, 16] = ((4,8,2,2),(2,2,2,2)):((128,1,16,0),(64,8,512,32))
                A fragment of `mma.m16n8k16.f32.f16` (#3)
            rb: register f16[64, 16] = ((4,8,2,2),(2,2,4)):((128,1,0,8),(64,512,16))
                B fragment of `mma.m16n8k16.f32.f16` (#3)
            rc: register f32[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
                accumulator fragment of `mma.m16n8k16.f32.f16` (#3)
            sc: shared f16[64, 64] = swizzle<3, 3, 3> ∘ (64,64):(64,1), 8192 B at 0
                the accesses unify to `(64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#5, #7)
            rc_cast: register f16[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
                elementwise: as its operand (#4)
            rc1: register f16[64, 64] = ((32,4),(2,16)):((128,1),(64,4))
                coalesced along dimension 1 of `c` (#8)
            #1 copy(a[block_idx.x * 64 + 0..64, ki * 16 + 0..16], ra): ld.global.b32, 4 B an access
                4 B: each thread holds 2 neighbours along the contiguous dimension
            #2 copy(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb): ld.global.b32, 4 B an access
                4 B: each thread holds 2 neighbours along the contiguous dimension
            #3 gemm(rc, ra, rb): mma.m16n8k16.f32.f16, 2×2 across the block, 2×4×1 each
                lowest estimated cost of the arrangements that fit: 2 along M, 2 along N
            #4 rc_cast = cast(rc, f16): cvt.f16x2.f32
                2 elements at once into one register
            #5 copy(rc_cast, sc[0..64, 0..64]): stmatrix.x4, 16 B an access, no bank conflicts
                asks for `(64,(8,8)):(D,(1,D))`; the widest access
            #7 copy(sc[0..64, 0..64], rc1): ldmatrix.x4, 16 B an access, no bank conflicts
                asks for `(64,(8,8)):(D,(1,D))`; the widest access
            #8 copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.b32, 4 B an access
                4 B: the stride `n` of `c` is known to be divisible by 2 only
            shared memory: 8192 B
        "#]],
    );
}

#[test]
fn f32_has_no_matrix_instruction() {
    check(
        Matmul { dtype: hx_dtype::DType::F32, tile: [32, 32, 8], ..Matmul::default() },
        expect![[r#"
        kernel matmul threads 128
        ra: register f32[32, 8] = ((8,16),(4,8)):((1,0),(8,32))
            A fragment of `fma.f32` (#3)
        rb: register f32[32, 8] = ((8,16),(2,8)):((0,1),(16,32))
            B fragment of `fma.f32` (#3)
        rc: register f32[32, 32] = ((8,16),(2,4)):((1,32),(512,8))
            accumulator fragment of `fma.f32` (#3)
        sc: shared f32[32, 32] = swizzle<3, 2, 3> ∘ (32,32):(32,1), 4096 B at 0
            the accesses unify to `(32,(4,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#5, #7)
        rc_cast: register f32[32, 32] = ((8,16),(2,4)):((1,32),(512,8))
            elementwise: as its operand (#4)
        rc1: register f32[32, 32] = ((8,16),(4,2)):((128,1),(32,16))
            coalesced along dimension 1 of `c` (#8)
        #1 copy(a[block_idx.x * 32 + 0..32, ki * 8 + 0..8], ra): ld.global.v4.b32, 16 B an access
            the widest access
        #2 copy(b[block_idx.y * 32 + 0..32, ki * 8 + 0..8], rb): ld.global.v4.b32, 16 B an access
            the widest access
        #3 gemm(rc, ra, rb): fma.f32, 8×16 across the block, 4×2×8 each
            lowest estimated cost of the arrangements that fit: 8 along M, 16 along N
        #4 rc_cast = cast(rc, f32): move
            one element at once
        #5 copy(rc_cast, sc[0..32, 0..32]): st.shared.b32, 4 B an access, no bank conflicts
            asks for `(32,32):(D,D)`; each thread holds 1 element in a row
        #7 copy(sc[0..32, 0..32], rc1): ld.shared.v4.b32, 16 B an access, no bank conflicts
            asks for `(32,(4,8)):(D,(1,D))`; the widest access
        #8 copy(rc1, c[block_idx.x * 32 + 0..32, block_idx.y * 32 + 0..32]): st.global.v4.b32, 16 B an access
            the widest access
        shared memory: 4096 B
    "#]],
    );
}

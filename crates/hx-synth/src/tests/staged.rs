//! Solves operands that move through shared memory: matrix loads, transposed and plain.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::{Facts, Symbol};
use hx_tile::{
    Base, Choice, Conflicts, Constant, GridAxis, OpId, OpKind, Scope, SyncOp, TensorId, TileProgram, View,
    emit_layouts,
};

use super::build::{Ops, constant, param, product, register, shared, tile_of};
use crate::{Solved, solve};

/// Returns one tile of `c = a · bᵀ` of shape `[m, n, k]` with both operands staged in shared memory. If `transposed`, `b` is
/// stored there as `[k, n]`.
pub(super) fn staged(dtype: DType, transposed: bool, [m, n, k]: [i64; 3]) -> TileProgram {
    let mut facts = Facts::default();
    for name in ["m", "n", "k"] {
        facts.divisible(Symbol::Dim(name.into()), 16);
    }
    let b_tile = if transposed { [k, n] } else { [n, k] };
    let tensors = vec![
        register("ga", dtype, &[m, k]),
        register("gb", dtype, &b_tile),
        shared("sa", dtype, &[m, k]),
        shared("sb", dtype, &b_tile),
        register("ra", dtype, &[m, k]),
        register("rb", dtype, &[n, k]),
        register("rc", DType::F32, &[m, n]),
    ];
    let whole = |i: u32| {
        let t = TensorId(i);
        let base = if tensors[i as usize].is_register() { Base::Register(t) } else { Base::Shared(t) };
        View::whole(base, &tensors[i as usize].shape)
    };
    let mut sb = whole(3);
    if transposed {
        sb.modes.reverse();
    }
    let zero = || [constant(0), constant(0)];
    let mut ops = Ops::new();
    let body = vec![
        ops.op(OpKind::Copy { src: tile_of(0, zero(), [m, k]), dst: whole(0) }),
        ops.op(OpKind::Copy { src: whole(0), dst: whole(2) }),
        ops.op(OpKind::Copy { src: tile_of(1, zero(), b_tile), dst: whole(1) }),
        ops.op(OpKind::Copy { src: whole(1), dst: whole(3) }),
        ops.op(OpKind::Sync(SyncOp::Scope)),
        ops.op(OpKind::Fill { dst: TensorId(6), value: Constant::ZERO }),
        ops.op(OpKind::Copy { src: whole(2), dst: whole(4) }),
        ops.op(OpKind::Copy { src: sb, dst: whole(5) }),
        ops.op(product(&tensors, [6, 4, 5].map(TensorId), None)),
        ops.op(OpKind::Copy { src: whole(6), dst: tile_of(2, zero(), [m, n]) }),
    ];
    let names = if transposed { ["k", "n"] } else { ["n", "k"] };
    let params = vec![
        param("a", dtype, ["m", "k"], false),
        param("b", dtype, names, false),
        param("c", DType::F32, ["m", "n"], false),
    ];
    let grid = vec![GridAxis { blocks: constant(1) }];
    TileProgram {
        name: "staged".into(),
        params,
        facts,
        grid,
        scopes: vec![Scope::block(128)],
        tensors,
        body,
        ..TileProgram::default()
    }
}

fn check(program: TileProgram, expected: Expect) {
    let Solved { program: whole, solution, .. } = solve(&program, &|| false).unwrap();
    assert_eq!(hx_verify::verify(&program, &whole, &solution), []);
    expected.assert_eq(&emit_layouts(&whole, &solution));
}

#[test]
fn operands_come_by_matrix_loads() {
    check(
        staged(DType::F16, false, [64, 64, 32]),
        expect![[r#"
            kernel staged threads 128
            ga: register f16[64, 32] = ((4,32),(8,2)):((512,1),(64,32))
                coalesced along dimension 1 of `a` (#0)
            gb: register f16[64, 32] = ((4,32),(8,2)):((512,1),(64,32))
                coalesced along dimension 1 of `b` (#2)
            sa: shared f16[64, 32] = swizzle<2, 3, 3> ∘ (64,32):(32,1), 4096 B at 0
                the accesses unify to `(64,(8,4)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#1, #6)
            sb: shared f16[64, 32] = swizzle<2, 3, 3> ∘ (64,32):(32,1), 4096 B at 4096
                the accesses unify to `(64,(8,4)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#3, #7)
            ra: register f16[64, 32] = ((4,8,2,2),(2,2,2,2,2)):((128,1,16,0),(64,8,512,32,1024))
                A fragment of `mma.m16n8k16.f32.f16` (#8)
            rb: register f16[64, 32] = ((4,8,2,2),(2,2,4,2)):((128,1,0,8),(64,512,16,1024))
                B fragment of `mma.m16n8k16.f32.f16` (#8)
            rc: register f32[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
                accumulator fragment of `mma.m16n8k16.f32.f16` (#8)
            #0 copy(a[0..64, 0..32], ga): ld.global.v4.b32, 16 B an access
                the widest access
            #1 copy(ga, sa[0..64, 0..32]): st.shared.v4.b32, 16 B an access, no bank conflicts
                asks for `(64,(8,4)):(D,(1,D))`; the widest access
            #2 copy(b[0..64, 0..32], gb): ld.global.v4.b32, 16 B an access
                the widest access
            #3 copy(gb, sb[0..64, 0..32]): st.shared.v4.b32, 16 B an access, no bank conflicts
                asks for `(64,(8,4)):(D,(1,D))`; the widest access
            #6 copy(sa[0..64, 0..32], ra): ldmatrix.x4, 16 B an access, no bank conflicts
                asks for `(64,(8,4)):(D,(1,D))`; the widest access
            #7 copy(sb[0..64, 0..32], rb): ldmatrix.x4, 16 B an access, no bank conflicts
                asks for `(64,(8,4)):(D,(1,D))`; the widest access
            #8 gemm(rc, ra, rb): mma.m16n8k16.f32.f16, 2×2 across the block, 2×4×2 each
                lowest estimated cost of the arrangements that fit: 2 along M, 2 along N
            #9 copy(rc, c[0..64, 0..64]): st.global.v2.b32, 8 B an access
                8 B: each thread holds 2 neighbours along the contiguous dimension
            shared memory: 8192 B
        "#]],
    );
}

#[test]
fn a_transposed_operand_comes_by_transposing_loads() {
    check(
        staged(DType::Bf16, true, [64, 64, 32]),
        expect![[r#"
            kernel staged threads 128
            ga: register bf16[64, 32] = ((4,32),(8,2)):((512,1),(64,32))
                coalesced along dimension 1 of `a` (#0)
            gb: register bf16[32, 64] = ((8,16),(8,2)):((256,1),(32,16))
                coalesced along dimension 1 of `b` (#2)
            sa: shared bf16[64, 32] = swizzle<2, 3, 3> ∘ (64,32):(32,1), 4096 B at 0
                the accesses unify to `(64,(8,4)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#1, #6)
            sb: shared bf16[32, 64] = swizzle<3, 3, 3> ∘ (32,64):(64,1), 4096 B at 4096
                the accesses unify to `(32,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#3, #7)
            ra: register bf16[64, 32] = ((4,8,2,2),(2,2,2,2,2)):((128,1,16,0),(64,8,512,32,1024))
                A fragment of `mma.m16n8k16.f32.bf16` (#8)
            rb: register bf16[64, 32] = ((4,8,2,2),(2,2,4,2)):((128,1,0,8),(64,512,16,1024))
                B fragment of `mma.m16n8k16.f32.bf16` (#8)
            rc: register f32[64, 64] = ((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))
                accumulator fragment of `mma.m16n8k16.f32.bf16` (#8)
            #0 copy(a[0..64, 0..32], ga): ld.global.v4.b32, 16 B an access
                the widest access
            #1 copy(ga, sa[0..64, 0..32]): st.shared.v4.b32, 16 B an access, no bank conflicts
                asks for `(64,(8,4)):(D,(1,D))`; the widest access
            #2 copy(b[0..32, 0..64], gb): ld.global.v4.b32, 16 B an access
                the widest access
            #3 copy(gb, sb[0..32, 0..64]): st.shared.v4.b32, 16 B an access, no bank conflicts
                asks for `(32,(8,8)):(D,(1,D))`; the widest access
            #6 copy(sa[0..64, 0..32], ra): ldmatrix.x4, 16 B an access, no bank conflicts
                asks for `(64,(8,4)):(D,(1,D))`; the widest access
            #7 copy(sb[0..32, 0..64] permuted [1, 0], rb): ldmatrix.x4.trans, 16 B an access, no bank conflicts
                asks for `(32,(8,8)):(D,(1,D))`; the widest access
            #8 gemm(rc, ra, rb): mma.m16n8k16.f32.bf16, 2×2 across the block, 2×4×2 each
                lowest estimated cost of the arrangements that fit: 2 along M, 2 along N
            #9 copy(rc, c[0..64, 0..64]): st.global.v2.b32, 8 B an access
                8 B: each thread holds 2 neighbours along the contiguous dimension
            shared memory: 8192 B
        "#]],
    );
}

/// Checks how each of four warps loads B, and the wavefronts of all warps together.
fn check_load(shape: [i64; 3], transposed: bool, row: &str, wavefronts: u64) {
    let program = staged(DType::F16, transposed, shape);
    let Solved { program: whole, solution, .. } = solve(&program, &|| false).unwrap();
    assert_eq!(hx_verify::verify(&program, &whole, &solution), []);
    let Some(Choice::Copy(copy)) = solution.choices.get(&OpId(7)) else { panic!("no copy") };
    let found = (copy.row.name(), copy.conflicts);
    assert_eq!(found, (row, Some(Conflicts { wavefronts, ideal: wavefronts })), "{shape:?}");
}

/// Lanes that address no row of a matrix take no wavefronts.
#[test]
fn matrices_take_a_wavefront_each() {
    check_load([64, 8, 8], false, "ldmatrix.x1", 4);
    check_load([64, 8, 16], false, "ldmatrix.x2", 8);
    check_load([64, 16, 16], false, "ldmatrix.x4", 16);
    check_load([64, 8, 8], true, "ldmatrix.x1.trans", 4);
    // 128 elements for 128 threads: each thread stores its own element if the matrix is read row by row.
    check_load([64, 8, 16], true, "ldmatrix.x2", 8);
}

//! The tiled products of the original system: with the same warps, ours hold as few values and issue as few instructions.

use hx_dtype::DType;
use hx_index::Facts;
use hx_target::Arch;
use hx_tile::{Choice, OpKind, TensorId, TileProgram};

use super::build::{Ops, register};
use crate::solve;

/// One product of register tensors with an arrangement of warps.
fn product(dtype: DType, [m, n, k]: [i64; 3], [wm, wn]: [i64; 2]) -> TileProgram {
    let tensors = vec![
        register("c", DType::F32, &[m, n]),
        register("a", dtype, &[m, k]),
        register("b", dtype, &[n, k]),
    ];
    let [c, a, b] = [0, 1, 2].map(TensorId);
    let mut ops = Ops::new();
    let body = vec![
        ops.op(OpKind::Fill { dst: c, value: 0.0 }),
        ops.op(OpKind::Fill { dst: a, value: 1.0 }),
        ops.op(OpKind::Fill { dst: b, value: 1.0 }),
        ops.op(OpKind::Gemm { c, a, b, warps: Some([wm, wn]) }),
    ];
    let threads = (32 * wm * wn) as u32;
    let (params, facts, grid, requires) = (vec![], Facts::default(), vec![], vec![]);
    TileProgram { name: "product".into(), params, facts, grid, threads, requires, tensors, body }
}

/// Values of A, B and C of each thread, and the instructions that a warp issues.
fn check(dtype: DType, shape: [i64; 3], warps: [i64; 2], values: [i64; 3], issued: i64) {
    let program = product(dtype, shape, warps);
    let solution = solve(&program, Arch::Sm90a, &|| false).unwrap();
    assert_eq!(hx_verify::verify(&program, &solution, Arch::Sm90a), [], "{shape:?}");
    let held = [1, 2, 0].map(|t| solution.registers[&TensorId(t)].layout.mode(1).size());
    assert_eq!(held, values, "{shape:?} {warps:?}");
    let Some(Choice::Gemm(choice)) = solution.choices.values().next() else { panic!("no product") };
    assert_eq!((choice.arrangement, choice.issues.iter().product::<i64>()), (warps, issued), "{shape:?}");
}

#[test]
fn values_and_instructions_are_those_of_the_original() {
    check(DType::F16, [128, 128, 16], [2, 2], [32, 32, 128], 32);
    check(DType::F16, [64, 128, 16], [4, 1], [8, 64, 64], 16);
    check(DType::F16, [256, 128, 16], [4, 2], [32, 32, 128], 32);
    check(DType::F16, [64, 256, 16], [1, 8], [32, 16, 64], 16);
    check(DType::F16, [96, 192, 16], [2, 2], [24, 48, 144], 36);
    // The original exchanges A and B for this one; the numbers are the same.
    check(DType::Bf16, [128, 64, 16], [2, 2], [32, 16, 64], 16);
    check(DType::F8E4m3, [128, 128, 32], [2, 2], [64, 64, 128], 32);
}

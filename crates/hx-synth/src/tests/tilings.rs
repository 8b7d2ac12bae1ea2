//! The tiled products of the original system: with the same warps, ours hold as few values and issue as few instructions.

use hx_dtype::DType;
use hx_index::Facts;
use hx_target::Arch;
use hx_tile::{Choice, OpKind, TensorId, TileProgram};

use super::build::{Ops, register};
use crate::solve;

/// One product of register tensors with an arrangement of warps, or a batch of products.
fn product(dtype: DType, [m, n, k]: [i64; 3], batch: Option<i64>, warps: [i64; 3]) -> TileProgram {
    let shape = |extents: [i64; 2]| extents.into_iter().chain(batch).collect::<Vec<_>>();
    let tensors = vec![
        register("c", DType::F32, &shape([m, n])),
        register("a", dtype, &shape([m, k])),
        register("b", dtype, &shape([n, k])),
    ];
    let [c, a, b] = [0, 1, 2].map(TensorId);
    let mut ops = Ops::new();
    let body = vec![
        ops.op(OpKind::Fill { dst: c, value: 0.0 }),
        ops.op(OpKind::Fill { dst: a, value: 1.0 }),
        ops.op(OpKind::Fill { dst: b, value: 1.0 }),
        ops.op(OpKind::Gemm { c, a, b, warps: Some(warps) }),
    ];
    let threads = 32 * warps.iter().product::<i64>() as u32;
    let (params, facts, grid, requires) = (vec![], Facts::default(), vec![], vec![]);
    TileProgram { name: "product".into(), params, facts, grid, threads, requires, tensors, body }
}

/// Values of A, B and C of each thread, and the instructions that a warp issues.
fn check(dtype: DType, shape: [i64; 3], [wm, wn]: [i64; 2], values: [i64; 3], issued: i64) {
    check_batch(dtype, shape, None, [wm, wn, 1], values, issued);
}

fn check_batch(
    dtype: DType,
    shape: [i64; 3],
    batch: Option<i64>,
    warps: [i64; 3],
    values: [i64; 3],
    issued: i64,
) {
    let program = product(dtype, shape, batch, warps);
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

/// Products side by side are dealt to warps as M and N are; a warp that has several makes them one after the other.
#[test]
fn a_batch_is_dealt_to_warps_as_well() {
    check_batch(DType::F16, [64, 16, 16], Some(8), [1, 1, 8], [32, 8, 32], 8);
    check_batch(DType::F16, [64, 16, 16], Some(8), [2, 1, 4], [32, 16, 32], 8);
    check_batch(DType::F16, [64, 16, 32], Some(3), [1, 1, 3], [64, 16, 32], 16);
    // The third of three stands beside a place for a fourth.
    check_batch(DType::F16, [16, 8, 8], Some(3), [1, 1, 2], [8, 4, 8], 2);
}

//! Products of Hopper whose operands are quantized: each row of either one has a scale.

use std::activations::{identity, relu};
use std::gemm::{feed, multiply_in_turn};
use std::tiles::grouped;

/// ACT(x · row · column), in f32.
fn scaled<ACC: type, ACT: fn>(
    x: register ACC[M, N],
    row: register f32[M, 1],
    column: register f32[1, N],
) -> f32[M, N] {
    if ACC == f32 { ACT(x * row * column) } else { ACT(cast(x, f32) * row * column) }
}

/// As `std::gemm::store`, of ACT(acc · by_row · by_column).
fn store_scaled<ACC: type, OUT: type, ACT: fn>(
    acc: register ACC[M, N],
    slots: shared mut OUT[M, W, SLOTS],
    by_row: f32[m],
    by_column: f32[n],
    c: mut OUT[m, n],
    bm: i64,
    bn: i64,
    stored: i64,
) {
    let row = load(tile(by_row, [M])[.., bm][.., new]);
    #[unroll]
    for j in 0..N / W {
        let (slot, slice) = ((stored + j) % SLOTS, bn * (N / W) + j);
        wait_stores(SLOTS - 1);
        sync();
        // Few columns at a time, because there are few registers beside the accumulators.
        #[unroll]
        for p in 0..W / 16 {
            let (part, from) = (slice * (W / 16) + p, j * W + p * 16);
            let column = load(tile(by_column, [16])[.., part][new, ..]);
            let x = scaled<ACT = ACT>(acc[.., from..from + 16], row, column);
            copy(cast(x, OUT), slots[.., p * 16..(p + 1) * 16, slot]);
        }
        sync();
        copy_async(slots[.., .., slot], tile(c, [M, W])[.., .., bm, slice]);
    }
}

/// c[m, n] = ACT(a[m, k] · b[n, k]ᵀ · by_row[m] · by_column[n]), where the product of integers is exact. As
/// `std::gemm::gemm_pingpong`, with tiles that leave registers to the scales.
/// A launch that gives none of the parameters of its tiles runs the member of the family that is fastest for its shape by the cost model.
#[family(
    gemm_scaled<BM = 128, BN = 128, STAGES = 5>,
    gemm_scaled<BM = 128, BN = 64, STAGES = 6>,
    gemm_scaled<BM = 64, BN = 128, STAGES = 7>,
    gemm_scaled<BM = 64, BN = 64, STAGES = 8>,
    gemm_scaled<BM = 64, BN = 256, STAGES = 4>,
)]
kernel gemm_scaled<
    T: type = f8e4m3,
    U: type = T,
    ACC: type = if T == i8 || T == u8 { i32 } else { f32 },
    OUT: type = bf16,
    BM = 128,
    BN = 128,
    BK = if T == f16 || T == bf16 { 64 } else if T == tf32 { 32 } else { 128 },
    STAGES = 5,
    GROUP = 8,
    W = if OUT == f32 { 32 } else { 64 },
    SLOTS = 2,
    ACT: fn = identity,
>(
    a: T[m, k] : [a0, a1],
    b: U[n, k] : [b0, b1],
    by_row: f32[m] : [row],
    by_column: f32[n] : [column],
    c: mut OUT[m, n] : [c0, 1],
)
    where BN % W == 0, T == f16 || T == bf16 || (a1 == 1 && b1 == 1)
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - block_idx, grid_dim);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
    let (pipe, multiplying) = (pipeline(STAGES, readers: 1), turns());
    warp_groups {
        // As in `gemm_pingpong`.
        producer registers (if BN > 128 { 24 } else { 48 }) {
            for w in 0..rounds {
                let (bm, bn) = grouped<GROUP = GROUP>(block_idx + w * grid_dim, rows, columns);
                feed(a, b, sa, sb, pipe, bm, bn);
            }
        }
        consumer each 2 (g) {
            let acc = register_tensor(ACC, [BM, BN]);
            let slots = shared_tensor(OUT, [BM, W, SLOTS]);
            pipe.skip(g * steps);
            for i in 0..cdiv(rounds - g, 2) {
                let (bm, bn) = grouped<GROUP = GROUP>(block_idx + (2 * i + g) * grid_dim, rows, columns);
                multiply_in_turn(acc, sa, sb, pipe, multiplying, steps);
                store_scaled<ACT = ACT>(acc, slots, by_row, by_column, c, bm, bn, i * (BN / W));
            }
        }
    }
}

test "gemm_scaled of floats of 8 bits" for (m, n, k, T, U, OUT) in [
    (128, 128, 128, f8e4m3, f8e4m3, bf16),
    (200, 328, 144, f8e4m3, f8e5m2, f16),
] {
    let a = randn(T, [m, k], seed: 1);
    let b = randn(U, [n, k], seed: 2);
    let by_row = uniform(f32, [m], low: 0.5, high: 2.0, seed: 3);
    let by_column = uniform(f32, [n], low: 0.5, high: 2.0, seed: 4);
    let (c, d) = (empty(OUT, [m, n]), empty(OUT, [m, n]));
    gemm_scaled(a, b, by_row, by_column, c);
    assert(uses("tma.load") && uses("tma.store") && uses("wgmma") == supports("wgmma"));
    assert(conflicts() == 0 && spills() == 0 && redistributions() == 0);
    assert_close(c, (a @ b.T) * reshape(by_row, [m, 1]) * by_column, ulp: 4);
    // One scale for all rows.
    let (one, two) = (full(f32, [1], 0.25), full(f32, [1], 3.0));
    gemm_scaled<ACT = relu>(a, b, broadcast_to(one, [m]), broadcast_to(two, [n]), d);
    assert(conflicts() == 0 && spills() == 0);
    assert_close(d, max((a @ b.T) * 0.75, 0.0), ulp: 4);
}

test "gemm_scaled of integers of 8 bits" for (m, n, k) in [(200, 328, 144), (5, 8, 16)] {
    let a = uniform(i8, [m, k], low: -128, high: 128, seed: 5);
    let b = uniform(i8, [n, k], low: -128, high: 128, seed: 6);
    let by_row = uniform(f32, [m], low: 0.001, high: 0.01, seed: 7);
    let by_column = uniform(f32, [n], low: 0.001, high: 0.01, seed: 8);
    let c = empty(bf16, [m, n]);
    gemm_scaled<BN = 64>(a, b, by_row, by_column, c);
    assert(uses("tma.load") && uses("wgmma") == supports("wgmma") && conflicts() == 0 && spills() == 0);
    assert_close(c, (a @ b.T) * reshape(by_row, [m, 1]) * by_column, ulp: 4);
}

bench "gemm_scaled 4096" for T in [f8e4m3, i8] {
    let spread = if T == i8 { 60.0 } else { 1.0 };
    let a = cast(randn(f32, [4096, 4096], seed: 1) * spread, T);
    let b = cast(randn(f32, [4096, 4096], seed: 2) * spread, T);
    let by_row = uniform(f32, [4096], low: 0.001, high: 0.01, seed: 3);
    let by_column = uniform(f32, [4096], low: 0.001, high: 0.01, seed: 4);
    let (c, d) = (empty(bf16, [4096, 4096]), empty(if T == i8 { i32 } else { bf16 }, [4096, 4096]));
    measure flops 2 * 4096 * 4096 * 4096 { gemm_scaled(a, b, by_row, by_column, c) }
    // The vendor's product has no scales of rows here.
    baseline cublas::gemm(a, b.T, d)
}

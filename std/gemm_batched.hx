//! Batches of matrix products of Hopper, in one launch of a persistent kernel.

use std::activations::{identity, relu};
use std::gemm::{feed, multiply, multiply_in_turn, store};
use std::tiles::grouped;

/// Returns the batch, the row and the column of tile `t` among the tiles of all batches, batch by batch.
fn batched<GROUP = 8>(t: i64, rows: i64, columns: i64) -> (i64, i64, i64) {
    let (bm, bn) = grouped<GROUP = GROUP>(t % (rows * columns), rows, columns);
    (t / (rows * columns), bm, bn)
}

kernel gemm_batched<
    T: type = bf16,
    U: type = T,
    ACC: type = if T == i8 || T == u8 { i32 } else { f32 },
    OUT: type = if T == f16 || T == bf16 { T } else if ACC == i32 || T == tf32 { ACC } else { bf16 },
    BM = 128,
    BN = 192,
    BK = if T == f16 || T == bf16 { 64 } else if T == tf32 { 32 } else { 128 },
    STAGES = 4,
    GROUP = 8,
    W = (if BN % 64 == 0 { 64 } else if BN % 32 == 0 { 32 } else { 16 }) / (if OUT == ACC { 2 } else { 1 }),
    SLOTS = 2,
    EPILOGUE: fn = identity,
>(a: T[g, m, k] : [a0, a1, a2], b: U[g, n, k] : [b0, b1, b2], c: mut OUT[g, m, n] : [c0, c1, 1])
    where BN % W == 0, T == f16 || T == bf16 || (a2 == 1 && b2 == 1)
    tune BM in [64, 128, 256], BN in 64..=256 step 16, BK in [64, 128], STAGES in 2..=7, GROUP in [8, 16]
    grid [min(multiprocessors, g * cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(g * rows * columns - block_idx, grid_dim);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
    let (pipe, multiplying) = (pipeline(STAGES, readers: 1), turns());
    warp_groups {
        // Threads that copy what no box takes need more than 24 registers. Small tiles leave them enough.
        producer registers (if BN > 128 { 24 } else { 48 }) {
            for w in 0..rounds {
                let (i, bm, bn) = batched<GROUP = GROUP>(block_idx + w * grid_dim, rows, columns);
                feed(a[i], b[i], sa, sb, pipe, bm, bn);
            }
        }
        consumer each 2 (h) {
            let acc = register_tensor(ACC, [BM, BN]);
            let slots = shared_tensor(OUT, [BM, W, SLOTS]);
            pipe.skip(h * steps);
            for r in 0..cdiv(rounds - h, 2) {
                let (i, bm, bn) = batched<GROUP = GROUP>(block_idx + (2 * r + h) * grid_dim, rows, columns);
                multiply_in_turn(acc, sa, sb, pipe, multiplying, steps);
                store<EPILOGUE = EPILOGUE>(acc, slots, c[i], bm, bn, r * (BN / W));
            }
        }
    }
}

test "batch" {
    let (g, m, n, k) = (3, 200, 136, 136);
    let a = randn(bf16, [g, m, k], seed: 1);
    let b = randn(bf16, [g, n, k], seed: 2);
    let c = empty(bf16, [g, m, n]);
    gemm_batched<BN = 64>(a, b, c);
    assert(uses("tma.load") && uses("tma.store") && uses("wgmma") && conflicts() == 0 && spills() == 0);
    assert_close(c, a @ permute(b, [0, 2, 1]), ulp: 4);
}

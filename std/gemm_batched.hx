//! Batches of matrix products of Hopper, in one launch of a persistent kernel.

use std::activations::{identity, relu};
use std::gemm::{feed, finish, multiply, multiply_in_turn, store};
use std::tiles::batched;

/// c[g, m, n] = EPILOGUE(a[g, m, k] · b[g, n, k]ᵀ) for each matrix of the batch, as `std::gemm::gemm_pingpong`: blocks walk over the
/// tiles of all matrices. The matrices may lie at any distance from each other; at distance 0 all products share one matrix.
/// A launch that gives none of the parameters of its tiles runs the member of the family that is fastest for its shape by the cost model.
#[family(
    gemm_batched<BN = 192>,
    gemm_batched<BN = 160>,
    gemm_batched<BN = 128, STAGES = 5>,
    gemm_batched<BN = 64, STAGES = 6>,
    gemm_batched<BM = 64, BN = 256>,
    gemm_batched<BM = 64, BN = 128, STAGES = 6>,
    gemm_batched<BM = 64, BN = 64, STAGES = 8>,
    gemm_batched_shared<BN = 256>,
    gemm_batched_shared<BN = 192>,
    gemm_batched_shared<BN = 128, STAGES = 6>,
    gemm_batched_swapped<BM = 8>,
    gemm_batched_swapped<BM = 16>,
    gemm_batched_swapped<BM = 32>,
    gemm_batched_swapped<BM = 64>,
)]
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
    W = (if BN % 64 == 0 { 64 } else if BN % 32 == 0 { 32 } else { 16 })
        / (if OUT == f32 || OUT == i32 { 2 } else { 1 }),
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
        producer registers (if BN > 128 { 24 } else { 56 }) {
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

/// As `gemm_batched`, but two groups share each tile, as in `std::gemm::gemm`.
kernel gemm_batched_shared<
    T: type = bf16,
    U: type = T,
    ACC: type = if T == i8 || T == u8 { i32 } else { f32 },
    OUT: type = if T == f16 || T == bf16 { T } else if ACC == i32 || T == tf32 { ACC } else { bf16 },
    BM = 128,
    BN = 256,
    BK = if T == f16 || T == bf16 { 64 } else if T == tf32 { 32 } else { 128 },
    STAGES = 4,
    GROUP = 8,
    W = (if BN % 64 == 0 { 64 } else if BN % 32 == 0 { 32 } else { 16 })
        / (if OUT == f32 || OUT == i32 { 2 } else { 1 }),
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
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 56 {
            for w in 0..rounds {
                let (i, bm, bn) = batched<GROUP = GROUP>(block_idx + w * grid_dim, rows, columns);
                feed(a[i], b[i], sa, sb, pipe, bm, bn);
            }
        }
        consumer 2 {
            let acc = register_tensor(ACC, [BM, BN]);
            let slots = shared_tensor(OUT, [BM, W, SLOTS]);
            for w in 0..rounds {
                let (i, bm, bn) = batched<GROUP = GROUP>(block_idx + w * grid_dim, rows, columns);
                multiply(acc, sa, sb, pipe, steps);
                gemm_wait(0);
                pipe.release();
                store<EPILOGUE = EPILOGUE>(acc, slots, c[i], bm, bn, w * (BN / W));
            }
        }
    }
}

/// As `gemm_batched`, for matrices `a` of few rows: the products are computed as their transposes, as in `std::gemm::gemm_swapped`.
kernel gemm_batched_swapped<
    T: type = bf16,
    U: type = T,
    ACC: type = if T == i8 || T == u8 { i32 } else { f32 },
    OUT: type = if T == f16 || T == bf16 { T } else if ACC == i32 || T == tf32 { ACC } else { bf16 },
    BM = 16,
    BN = 64,
    BK = if T == f16 || T == bf16 { 64 } else if T == tf32 { 32 } else { 128 },
    STAGES = (if T == f16 || T == bf16 { 98304 } else if T == tf32 { 49152 } else { 196608 })
        / ((BM + BN) * BK),
    EPILOGUE: fn = identity,
>(a: T[g, m, k] : [a0, a1, a2], b: U[g, n, k] : [b0, b1, b2], c: mut OUT[g, m, n] : [c0, c1, 1])
    where BN % 64 == 0, T == f16 || T == bf16 || (a2 == 1 && b2 == 1)
    tune BM in [8, 16, 32, 64, 128], BN in [64, 128, 192], BK in [64, 128]
    grid [min(multiprocessors, g * cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(g * rows * columns - block_idx, grid_dim);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 56 {
            for w in 0..rounds {
                let (i, bm, bn) = batched(block_idx + w * grid_dim, rows, columns);
                feed(b[i], a[i], sb, sa, pipe, bn, bm);
            }
        }
        consumer (BN / 64) {
            let acc = register_tensor(ACC, [BN, BM]);
            let slot = shared_tensor(OUT, [BM, BN]);
            for w in 0..rounds {
                let (i, bm, bn) = batched(block_idx + w * grid_dim, rows, columns);
                multiply(acc, sb, sa, pipe, steps);
                gemm_wait(0);
                pipe.release();
                wait_stores(0);
                sync();
                finish<EPILOGUE = EPILOGUE>(acc, slot.T);
                sync();
                copy_async(slot, tile(c[i], [BM, BN])[.., .., bm, bn]);
            }
        }
    }
}

test "gemm_batched" for (T, OUT, g, m, n, k) in [
    (f16, f16, 3, 200, 136, 136),
    (bf16, f32, 5, 72, 200, 72),
    (f8e4m3, bf16, 2, 136, 72, 208),
    (i8, i32, 3, 64, 100, 80),
] {
    let spread = if T == i8 { 60.0 } else { 1.0 };
    let a = cast(randn(f32, [g, m, k], seed: 1) * spread, T);
    let b = cast(randn(f32, [g, n, k], seed: 2) * spread, T);
    let c = empty(OUT, [g, m, n]);
    gemm_batched<BM = 64, BN = 64, STAGES = 3, GROUP = 2>(a, b, c);
    assert(uses("tma.load") && uses("tma.store") && uses("wgmma") == supports("wgmma"));
    assert(conflicts() == 0 && spills() == 0);
    if OUT == i32 {
        assert_eq(c, a @ b.T);
    } else {
        assert_close(c, a @ b.T, ulp: 8);
    }
}

test "gemm_batched_shared and gemm_batched_swapped" for (T, OUT, g, m, n, k) in [
    (f16, f16, 3, 200, 136, 136),
    (f8e4m3, bf16, 2, 136, 72, 208),
    (i8, i32, 3, 64, 100, 80),
] {
    let spread = if T == i8 { 60.0 } else { 1.0 };
    let a = cast(randn(f32, [g, m, k], seed: 1) * spread, T);
    let b = cast(randn(f32, [g, n, k], seed: 2) * spread, T);
    let (c, d) = (empty(OUT, [g, m, n]), empty(OUT, [g, m, n]));
    gemm_batched_shared<BN = 64, STAGES = 3, GROUP = 2>(a, b, c);
    assert(uses("tma.load") && uses("tma.store") && uses("wgmma") == supports("wgmma"));
    assert(conflicts() == 0 && spills() == 0);
    gemm_batched_swapped<STAGES = 3>(a, b, d);
    assert(uses("tma.load") && uses("wgmma") == supports("wgmma") && spills() == 0);
    if OUT == i32 {
        assert_eq(c, a @ b.T);
        assert_eq(d, a @ b.T);
    } else {
        assert_close(c, a @ b.T, ulp: 8);
        assert_close(d, a @ b.T, ulp: 8);
    }
}

test "gemm_batched of any shape" for (g, m, n, k) in [(1, 1, 1, 2), (5, 9, 72, 136), (3, 300, 264, 72)] {
    let a = randn(bf16, [g, m, k], seed: 1);
    let b = randn(bf16, [g, n, k], seed: 2);
    let c = empty(bf16, [g, m, n]);
    gemm_batched<EPILOGUE = relu>(a, b, c);
    assert_close(c, max(a @ b.T, 0.0), ulp: 4);
}

/// The distances between matrices follow from no shape, and each tile at an edge has a neighbour that it must not write.
test "gemm_batched of parts of larger tensors" for is_along_rows in [true, false] {
    let (g, m, n, k) = (3, 200, 136, 136);
    let a = if is_along_rows {
        randn(bf16, [g + 1, m + 3, k + 8], seed: 3)[1.., ..m, ..k]
    } else {
        randn(bf16, [g + 1, k + 3, m + 8], seed: 3)[1.., ..k, ..m].T
    };
    let b = randn(bf16, [n, g, k], seed: 4);
    let whole = zeros(bf16, [g + 1, m + 3, n + 24]);
    let c = whole[..g, ..m, ..n];
    gemm_batched<BN = 192, EPILOGUE = relu>(a, permute(b, [1, 0, 2]), c);
    assert(
        uses("tma.load") && uses("tma.store") && uses(if is_along_rows { "a.k.128B" } else { "a.mn.128B" }),
    );
    assert(conflicts() == 0 && spills() == 0);
    assert_close(c, max(a @ permute(b, [1, 2, 0]), 0.0), ulp: 4);
    assert(sum(whole) == sum(c));
}

test "gemm_batched with one matrix for all" {
    let (g, m, n, k) = (4, 40, 72, 64);
    let a = randn(f16, [g, m, k], seed: 5);
    let b = randn(f16, [n, k], seed: 6);
    let (c, d) = (empty(f16, [g, m, n]), empty(f16, [g, n, m]));
    gemm_batched<BM = 64, BN = 64, STAGES = 2>(a, broadcast_to(b, [g, n, k]), c);
    assert(uses("tma.load") && uses("wgmma") == supports("wgmma"));
    assert_close(c, a @ b.T, ulp: 4);
    gemm_batched<BM = 64, BN = 64, STAGES = 2>(broadcast_to(b, [g, n, k]), a, d);
    assert_close(d, b @ a.T, ulp: 4);
}

/// Rows of 72 bytes are no multiples of 16, which boxes need.
test "gemm_batched of tensors that no box takes" {
    let a = randn(f16, [2, 33, 36], seed: 7);
    let b = randn(f16, [2, 50, 36], seed: 8);
    let c = empty(f16, [2, 33, 50]);
    gemm_batched<BM = 64, BN = 64, BK = 32, STAGES = 2>(a, b, c);
    assert(uses("cp.async") && uses("wgmma") == supports("wgmma") && spills() == 0);
    assert_close(c, a @ b.T, ulp: 4);
}

bench "gemm_batched" for (g, m, n, k) in [(64, 1024, 1024, 1024), (256, 512, 512, 128)] {
    let a = randn(bf16, [g, m, k], seed: 1);
    let b = randn(bf16, [g, n, k], seed: 2);
    let c = empty(bf16, [g, m, n]);
    measure flops 2 * g * m * n * k { gemm_batched(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

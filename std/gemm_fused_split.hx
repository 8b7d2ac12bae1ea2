//! Matrix products of Hopper with a bias, an activation and a residual for few tiles: the blocks of a cluster share the steps along K of
//! each tile, as in `std::gemm_split`, and what follows the product is computed where the sums arrive.

use std::activations::{gelu, identity, relu};
use std::gemm::multiply;
use std::gemm_fused::{fetch, finish_swapped, store_fused};
use std::gemm_split::feed_steps;

/// Copies the tiles of all products of the block into stages: those of `steps` steps along K from step `first` on.
fn feed_split<T: type, SPLIT>(
    a: T[m, k],
    b: T[n, k],
    sa: shared mut T[M, K, S],
    sb: shared mut T[N, K, S],
    pipe: pipeline,
    first: i64,
    steps: i64,
) {
    let (cluster, clusters) = (block_idx / SPLIT, grid_dim / SPLIT);
    let (rows, columns) = (cdiv(m, M), cdiv(n, N));
    for w in 0..cdiv(rows * columns - cluster, clusters) {
        let t = cluster + w * clusters;
        feed_steps(a, b, sa, sb, pipe, t % rows, t / rows, first, steps);
    }
}

/// Computes the tiles of a cluster of `SPLIT` blocks. Each block stores the sums of its part of the columns, which `shifts` has the bias of.
fn share_split<T: type, ACT: fn, SPLIT, W, SLOTS, IS_ADDED: bool>(
    sa: shared T[M, K, S],
    sb: shared T[N, K, S],
    pipe: pipeline,
    bias: T[n],
    residual: T[m, n],
    c: mut T[m, n],
    steps: i64,
) {
    let (rank, cluster, clusters) = (block_idx % SPLIT, block_idx / SPLIT, grid_dim / SPLIT);
    let (rows, columns) = (cdiv(m, M), cdiv(n, N));
    let acc = register_tensor(f32, [M, N]);
    let (shifts, slots) = (shared_tensor(f32, [N / SPLIT]), shared_tensor(T, [M, W, SLOTS]));
    for w in 0..cdiv(rows * columns - cluster, clusters) {
        let t = cluster + w * clusters;
        let (bm, part) = (t % rows, t / rows * SPLIT + rank);
        let shift = load(tile(bias, [N / SPLIT])[.., part]);
        if IS_ADDED {
            fetch<SLICES = N / SPLIT / W>(residual, slots, bm, part);
        }
        multiply(acc, sa, sb, pipe, steps);
        gemm_wait(0);
        pipe.release();
        let total = sum(acc, cluster: 0, scatter: 1);
        copy(cast(shift, f32), shifts);
        store_fused<ACT = ACT, PART = W, IS_ADDED = IS_ADDED>(
            total,
            shifts,
            slots,
            residual,
            c,
            bm,
            part,
            w * (N / SPLIT / W),
        );
    }
}

/// As `share_split`, of tiles of the transposed result: for few rows. The first block of a cluster stores them.
fn share_swapped_split<T: type, ACT: fn, SPLIT, IS_ADDED: bool>(
    sa: shared T[M, K, S],
    sb: shared T[N, K, S],
    pipe: pipeline,
    bias: T[n],
    residual: T[m, n],
    c: mut T[m, n],
    steps: i64,
) {
    let (rank, cluster, clusters) = (block_idx % SPLIT, block_idx / SPLIT, grid_dim / SPLIT);
    let (rows, columns) = (cdiv(m, M), cdiv(n, N));
    let acc = register_tensor(f32, [N, M]);
    let (shifts, slots) = (shared_tensor(f32, [N]), shared_tensor(T, [M, N, 1]));
    for w in 0..cdiv(rows * columns - cluster, clusters) {
        // The order of `feed_split`, whose first operand is `b`.
        let t = cluster + w * clusters;
        let (bm, bn) = (t / columns, t % columns);
        let shift = load(tile(bias, [N])[.., bn]);
        if IS_ADDED && rank == 0 {
            fetch<SLICES = 1>(residual, slots, bm, bn);
        }
        multiply(acc, sb, sa, pipe, steps);
        gemm_wait(0);
        pipe.release();
        let total = sum(acc, cluster: 0, to: 0);
        if rank == 0 {
            copy(cast(shift, f32), shifts);
            finish_swapped<ACT = ACT, IS_ADDED = IS_ADDED>(total, shifts, slots, c, bm, bn);
        }
    }
}

/// c[m, n] = ACT(a[m, k] · b[n, k]ᵀ + bias[n]), as `std::gemm_split::gemm_split`.
kernel gemm_bias_split<
    T: type = bf16,
    BM = 128,
    BN = 128,
    BK = 64,
    SPLIT = 2,
    W = if BN / SPLIT % 64 == 0 { 64 } else if BN / SPLIT % 32 == 0 { 32 } else { 16 },
    SLOTS = 2,
    STAGES = (231424 - 2 * BM * W * SLOTS - 4 * BN / SPLIT - min(65536, 4 * (SPLIT - 1) * BM * BN / SPLIT))
        / (2 * (BM + BN) * BK),
    ACT: fn = identity,
>(a: T[m, k] : [a0, a1], b: T[n, k] : [b0, b1], bias: T[n], c: mut T[m, n] : [c0, 1])
    where BM % 64 == 0 && BN % (SPLIT * W) == 0
    tune BM in [64, 128], BN in [64, 96, 128, 160, 192, 224, 256], BK in [64, 128], SPLIT in [2, 4]
    grid [SPLIT * min(multiprocessors / SPLIT, cdiv(m, BM) * cdiv(n, BN))]
    cluster [SPLIT]
{
    let (rank, steps) = (block_idx % SPLIT, cdiv(k, BK));
    let (first, end) = (rank * steps / SPLIT, (rank + 1) * steps / SPLIT);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        // 24 registers, the default, are too few for threads that copy what no box takes.
        producer registers 40 {
            feed_split<SPLIT = SPLIT>(a, b, sa, sb, pipe, first, end - first);
        }
        consumer (BM / 64) {
            share_split<ACT = ACT, SPLIT = SPLIT, W = W, SLOTS = SLOTS, IS_ADDED = false>(
                sa,
                sb,
                pipe,
                bias,
                c,
                c,
                end - first,
            );
        }
    }
}

/// As `gemm_bias_split`, for few rows of `a`, as `std::gemm_split::gemm_swapped_split`.
kernel gemm_bias_swapped_split<
    T: type = bf16,
    BM = 16,
    BN = 64,
    BK = 64,
    SPLIT = 2,
    STAGES = (231424 - 2 * BM * BN - 4 * BN - min(65536, 4 * (SPLIT - 1) * BM * BN)) / (2 * (BM + BN) * BK),
    ACT: fn = identity,
>(a: T[m, k] : [a0, a1], b: T[n, k] : [b0, b1], bias: T[n], c: mut T[m, n] : [c0, 1])
    where BN % 64 == 0
    tune BM in [8, 16, 32, 64, 128], BN in [64, 128, 192], BK in [64, 128], SPLIT in [2, 4, 8]
    grid [SPLIT * min(multiprocessors / SPLIT, cdiv(m, BM) * cdiv(n, BN))]
    cluster [SPLIT]
{
    let (rank, steps) = (block_idx % SPLIT, cdiv(k, BK));
    let (first, end) = (rank * steps / SPLIT, (rank + 1) * steps / SPLIT);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 40 {
            feed_split<SPLIT = SPLIT>(b, a, sb, sa, pipe, first, end - first);
        }
        consumer (BN / 64) {
            share_swapped_split<ACT = ACT, SPLIT = SPLIT, IS_ADDED = false>(
                sa,
                sb,
                pipe,
                bias,
                c,
                c,
                end - first,
            );
        }
    }
}

/// c[m, n] = ACT(a[m, k] · b[n, k]ᵀ + bias[n]) + residual[m, n], as `std::gemm_split::gemm_split`.
kernel gemm_residual_split<
    T: type = bf16,
    BM = 128,
    BN = 128,
    BK = 64,
    SPLIT = 2,
    W = if BN / SPLIT % 64 == 0 { 64 } else if BN / SPLIT % 32 == 0 { 32 } else { 16 },
    SLOTS = 2,
    STAGES = (231424 - 2 * BM * W * SLOTS - 4 * BN / SPLIT - min(65536, 4 * (SPLIT - 1) * BM * BN / SPLIT))
        / (2 * (BM + BN) * BK),
    ACT: fn = identity,
>(
    a: T[m, k] : [a0, a1],
    b: T[n, k] : [b0, b1],
    bias: T[n],
    residual: T[m, n] : [r0, 1],
    c: mut T[m, n] : [c0, 1],
)
    where BM % 64 == 0 && BN % (SPLIT * W) == 0
    tune BM in [64, 128], BN in [64, 96, 128, 160, 192, 224, 256], BK in [64, 128], SPLIT in [2, 4]
    grid [SPLIT * min(multiprocessors / SPLIT, cdiv(m, BM) * cdiv(n, BN))]
    cluster [SPLIT]
{
    let (rank, steps) = (block_idx % SPLIT, cdiv(k, BK));
    let (first, end) = (rank * steps / SPLIT, (rank + 1) * steps / SPLIT);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        // 24 registers, the default, are too few for threads that copy what no box takes.
        producer registers 40 {
            feed_split<SPLIT = SPLIT>(a, b, sa, sb, pipe, first, end - first);
        }
        consumer (BM / 64) {
            share_split<ACT = ACT, SPLIT = SPLIT, W = W, SLOTS = SLOTS, IS_ADDED = true>(
                sa,
                sb,
                pipe,
                bias,
                residual,
                c,
                end - first,
            );
        }
    }
}

/// As `gemm_residual_split`, for few rows of `a`, as `std::gemm_split::gemm_swapped_split`.
kernel gemm_residual_swapped_split<
    T: type = bf16,
    BM = 16,
    BN = 64,
    BK = 64,
    SPLIT = 2,
    STAGES = (231424 - 2 * BM * BN - 4 * BN - min(65536, 4 * (SPLIT - 1) * BM * BN)) / (2 * (BM + BN) * BK),
    ACT: fn = identity,
>(
    a: T[m, k] : [a0, a1],
    b: T[n, k] : [b0, b1],
    bias: T[n],
    residual: T[m, n] : [r0, 1],
    c: mut T[m, n] : [c0, 1],
)
    where BN % 64 == 0
    tune BM in [8, 16, 32, 64, 128], BN in [64, 128, 192], BK in [64, 128], SPLIT in [2, 4, 8]
    grid [SPLIT * min(multiprocessors / SPLIT, cdiv(m, BM) * cdiv(n, BN))]
    cluster [SPLIT]
{
    let (rank, steps) = (block_idx % SPLIT, cdiv(k, BK));
    let (first, end) = (rank * steps / SPLIT, (rank + 1) * steps / SPLIT);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 40 {
            feed_split<SPLIT = SPLIT>(b, a, sb, sa, pipe, first, end - first);
        }
        consumer (BN / 64) {
            share_swapped_split<ACT = ACT, SPLIT = SPLIT, IS_ADDED = true>(
                sa,
                sb,
                pipe,
                bias,
                residual,
                c,
                end - first,
            );
        }
    }
}

test "fused products split along K" for (m, n, k, act) in [
    (128, 256, 256, identity),
    (300, 520, 136, gelu),
    (1000, 72, 40, relu),
    (5, 8, 16, gelu),
] {
    let a = randn(bf16, [m, k], seed: 1);
    let b = randn(bf16, [n, k], seed: 2);
    let bias = randn(bf16, [n], seed: 3);
    let residual = randn(bf16, [m, n], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    let x = a @ b.T + bias;
    let y = if act == gelu {
        x * 0.5 * (1.0 + erf(x * 0.7071067811865476))
    } else if act == relu {
        max(x, 0.0)
    } else {
        x
    };
    gemm_bias_split<BN = 64, BK = 32, STAGES = 3, ACT = act>(a, b, bias, c);
    assert_close(c, y, ulp: 4);
    gemm_residual_split<SPLIT = 4, ACT = act>(a, b, bias, residual, d);
    assert_close(d, y + residual, ulp: 4);
    gemm_bias_swapped_split<BM = 32, STAGES = 3, ACT = act>(a, b, bias, c);
    assert_close(c, y, ulp: 4);
    gemm_residual_swapped_split<BM = 8, SPLIT = 4, STAGES = 2, ACT = act>(a, b, bias, residual, d);
    assert_close(d, y + residual, ulp: 4);
    assert(spills() == 0);
}

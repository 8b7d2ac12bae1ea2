//! Matrix products of Hopper with a bias, an activation and a residual, computed before the result leaves the registers.
//!
//! The residual comes by asynchronous copies while the product runs, into the slots that the result leaves from.

use std::activations::{gelu, identity, relu};
use std::gemm::{feed, multiply, multiply_in_turn};
use std::gemm_fused_split::{
    gemm_bias_split,
    gemm_bias_swapped_split,
    gemm_residual_split,
    gemm_residual_swapped_split,
};
use std::gemm_short::gemm_bias_short;
use std::tiles::grouped;

/// Copies the tiles of all products of the block into stages.
fn feed_all<T: type, GROUP, CLUSTER>(
    a: T[m, k],
    b: T[n, k],
    sa: shared mut T[M, K, S],
    sb: shared mut T[N, K, S],
    pipe: pipeline,
) {
    let (rank, cluster, clusters) = (block_idx % CLUSTER, block_idx / CLUSTER, grid_dim / CLUSTER);
    let (rows, columns) = (cdiv(m, CLUSTER * M), cdiv(n, N));
    for w in 0..cdiv(rows * columns - cluster, clusters) {
        let (bm, bn) = grouped<GROUP = GROUP>(cluster + w * clusters, rows, columns);
        feed<CLUSTER = CLUSTER>(a, b, sa, sb, pipe, CLUSTER * bm + rank, bn);
    }
}

/// As `feed_all`, of tiles of the transposed result.
fn feed_swapped<T: type>(
    a: T[m, k],
    b: T[n, k],
    sa: shared mut T[M, K, S],
    sb: shared mut T[N, K, S],
    pipe: pipeline,
) {
    let (rows, columns) = (cdiv(m, M), cdiv(n, N));
    for w in 0..cdiv(rows * columns - block_idx, grid_dim) {
        let t = block_idx + w * grid_dim;
        feed(b, a, sb, sa, pipe, t / rows, t % rows);
    }
}

/// Begins the copies of the first slices of a tile of the residual into the slots, of `SLICES` slices a tile. A group of copies each.
fn fetch<T: type, SLICES>(residual: T[m, n], slots: shared mut T[M, W, SLOTS], bm: i64, bn: i64) {
    wait_stores(0);
    sync();
    #[unroll]
    for j in 0..min(SLOTS, SLICES) {
        copy_async(tile(residual, [M, W])[.., .., bm, bn * SLICES + j], slots[.., .., j]);
        commit();
    }
}

/// As `std::gemm::store`, of ACT(acc + bias), or of ACT(acc + bias) + residual after `fetch`. `shifts` holds the bias of the tile. Results
/// are computed `PART` columns at a time: few leave registers to `ACT`.
fn store_fused<T: type, ACT: fn, PART, IS_ADDED: bool>(
    acc: register f32[M, N],
    shifts: shared f32[N],
    slots: shared mut T[M, W, SLOTS],
    residual: T[m, n],
    c: mut T[m, n],
    bm: i64,
    bn: i64,
    stored: i64,
) {
    #[unroll]
    for j in 0..N / W {
        let (slot, slice) = (if IS_ADDED { j } else { stored + j } % SLOTS, bn * (N / W) + j);
        if IS_ADDED {
            wait(min(SLOTS, N / W - j) - 1);
        } else {
            wait_stores(SLOTS - 1);
        }
        sync();
        #[unroll]
        for p in 0..W / PART {
            let (at, to) = (j * W + p * PART, slots[.., p * PART..(p + 1) * PART, slot]);
            let x = ACT(acc[.., at..at + PART] + load(shifts[at..at + PART])[new, ..]);
            if IS_ADDED {
                let rest = load(to);
                // A lane writes elements that other lanes of its warp read here.
                sync_warp();
                copy(cast(x + cast(rest, f32), T), to);
            } else {
                copy(cast(x, T), to);
            }
        }
        sync();
        copy_async(slots[.., .., slot], tile(c, [M, W])[.., .., bm, slice]);
        if IS_ADDED && j + SLOTS < N / W {
            wait_stores(0);
            sync();
            copy_async(tile(residual, [M, W])[.., .., bm, slice + SLOTS], slots[.., .., slot]);
            commit();
        }
    }
}

/// The groups of a role compute each tile together.
fn share<T: type, ACT: fn, GROUP, W, SLOTS, CLUSTER, IS_ADDED: bool>(
    sa: shared T[M, K, S],
    sb: shared T[N, K, S],
    pipe: pipeline,
    bias: T[n],
    residual: T[m, n],
    c: mut T[m, n],
    steps: i64,
) {
    let (rank, cluster, clusters) = (block_idx % CLUSTER, block_idx / CLUSTER, grid_dim / CLUSTER);
    let (rows, columns) = (cdiv(m, CLUSTER * M), cdiv(n, N));
    let acc = register_tensor(f32, [M, N]);
    let (shifts, slots) = (shared_tensor(f32, [N]), shared_tensor(T, [M, W, SLOTS]));
    for w in 0..cdiv(rows * columns - cluster, clusters) {
        let (bm, bn) = grouped<GROUP = GROUP>(cluster + w * clusters, rows, columns);
        let bm = CLUSTER * bm + rank;
        let shift = load(tile(bias, [N])[.., bn]);
        if IS_ADDED {
            fetch<SLICES = N / W>(residual, slots, bm, bn);
        }
        multiply(acc, sa, sb, pipe, steps);
        gemm_wait(0);
        pipe.release();
        copy(cast(shift, f32), shifts);
        store_fused<ACT = ACT, PART = W, IS_ADDED = IS_ADDED>(
            acc,
            shifts,
            slots,
            residual,
            c,
            bm,
            bn,
            w * (N / W),
        );
    }
}

/// Group `g` of two computes tiles of its own: one multiplies while the other stores.
fn alternate<T: type, ACT: fn, GROUP, W, SLOTS, CLUSTER, IS_ADDED: bool>(
    sa: shared T[M, K, S],
    sb: shared T[N, K, S],
    pipe: pipeline,
    multiplying: turns,
    bias: T[n],
    residual: T[m, n],
    c: mut T[m, n],
    steps: i64,
    g: i64,
) {
    let (rank, cluster, clusters) = (block_idx % CLUSTER, block_idx / CLUSTER, grid_dim / CLUSTER);
    let (rows, columns) = (cdiv(m, CLUSTER * M), cdiv(n, N));
    let rounds = cdiv(rows * columns - cluster, clusters);
    let acc = register_tensor(f32, [M, N]);
    let (shifts, slots) = (shared_tensor(f32, [N]), shared_tensor(T, [M, W, SLOTS]));
    pipe.skip(g * steps);
    for i in 0..cdiv(rounds - g, 2) {
        let (bm, bn) = grouped<GROUP = GROUP>(cluster + (2 * i + g) * clusters, rows, columns);
        let bm = CLUSTER * bm + rank;
        let shift = load(tile(bias, [N])[.., bn]);
        if IS_ADDED {
            fetch<SLICES = N / W>(residual, slots, bm, bn);
        }
        multiply_in_turn(acc, sa, sb, pipe, multiplying, steps);
        copy(cast(shift, f32), shifts);
        store_fused<ACT = ACT, PART = if N <= 128 { min(W, 32) } else { 16 }, IS_ADDED = IS_ADDED>(
            acc,
            shifts,
            slots,
            residual,
            c,
            bm,
            bn,
            i * (N / W),
        );
    }
}

/// As `store_fused`, of a tile of the transposed result.
fn finish_swapped<T: type, ACT: fn, IS_ADDED: bool>(
    acc: register f32[N, M],
    shifts: shared f32[N],
    slots: shared mut T[M, N, 1],
    c: mut T[m, n],
    bm: i64,
    bn: i64,
) {
    let slot = slots[.., .., 0];
    if IS_ADDED {
        wait(0);
    } else {
        wait_stores(0);
    }
    sync();
    let x = ACT(acc + load(shifts)[.., new]);
    if IS_ADDED {
        let rest = load(slot.T);
        // A lane writes elements that other lanes of its warp read here.
        sync_warp();
        copy(cast(x + cast(rest, f32), T), slot.T);
    } else {
        copy(cast(x, T), slot.T);
    }
    sync();
    copy_async(slot, tile(c, [M, N])[.., .., bm, bn]);
}

/// As `share`, of tiles of the transposed result: for few rows.
fn share_swapped<T: type, ACT: fn, IS_ADDED: bool>(
    sa: shared T[M, K, S],
    sb: shared T[N, K, S],
    pipe: pipeline,
    bias: T[n],
    residual: T[m, n],
    c: mut T[m, n],
    steps: i64,
) {
    let (rows, columns) = (cdiv(m, M), cdiv(n, N));
    let acc = register_tensor(f32, [N, M]);
    let (shifts, slots) = (shared_tensor(f32, [N]), shared_tensor(T, [M, N, 1]));
    for w in 0..cdiv(rows * columns - block_idx, grid_dim) {
        let t = block_idx + w * grid_dim;
        let shift = load(tile(bias, [N])[.., t / rows]);
        if IS_ADDED {
            fetch<SLICES = 1>(residual, slots, t % rows, t / rows);
        }
        multiply(acc, sb, sa, pipe, steps);
        gemm_wait(0);
        pipe.release();
        copy(cast(shift, f32), shifts);
        finish_swapped<ACT = ACT, IS_ADDED = IS_ADDED>(acc, shifts, slots, c, t % rows, t / rows);
    }
}

/// Computes a tile of operands at any strides, as `std::gemm_any::gemm_any`.
fn compute_any<T: type, ACT: fn, BM, BN, BK, IS_ADDED: bool>(
    a: T[m, k],
    b: T[n, k],
    bias: T[n],
    residual: T[m, n],
    c: mut T[m, n],
    bm: i64,
    bn: i64,
) {
    let (ga, gb) = (tile(a, [BM, BK])[.., .., bm, ..], tile(b, [BN, BK])[.., .., bn, ..]);
    let (sa, sb) = (shared_tensor(T, [BM, BK]), shared_tensor(T, [BN, BK]));
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0);
    let (ra, rb) = (register_tensor(T, [BM, BK]), register_tensor(T, [BN, BK]));
    copy(ga[.., .., 0], ra);
    copy(gb[.., .., 0], rb);
    for ki in 0..cdiv(k, BK) {
        sync();
        copy(ra, sa);
        copy(rb, sb);
        sync();
        copy(ga[.., .., ki + 1], ra);
        copy(gb[.., .., ki + 1], rb);
        gemm(acc, sa, sb);
    }
    let sc = shared_tensor(f32, [BM, BN]);
    copy(ACT(acc + cast(load(tile(bias, [BN])[.., bn]), f32)[new, ..]), sc);
    sync();
    let x = load(sc);
    if IS_ADDED {
        x = x + cast(load(tile(residual, [BM, BN])[.., .., bm, bn]), f32);
    }
    copy(cast(x, T), tile(c, [BM, BN])[.., .., bm, bn]);
}

/// c[m, n] = ACT(a[m, k] · b[n, k]ᵀ + bias[n]). Groups of 64 rows share each tile, as in `std::gemm::gemm`, and the ring
/// has as many stages as fit.
/// A launch that gives none of the parameters of its tiles runs the member of the family that is fastest for its shape by the cost model.
#[family(
    gemm_bias<BN = 256>,
    gemm_bias<BN = 208>,
    gemm_bias<BN = 192>,
    gemm_bias<BN = 176>,
    gemm_bias<BN = 128>,
    gemm_bias<BN = 256, CLUSTER = 2>,
    gemm_bias<BN = 192, CLUSTER = 2>,
    gemm_bias<BM = 192, BN = 208>,
    gemm_bias<BM = 192, BN = 160>,
    gemm_bias<BM = 192, BN = 208, CLUSTER = 2>,
    gemm_bias<BM = 192, BN = 160, CLUSTER = 2>,
    gemm_bias<BM = 64, BN = 128>,
    gemm_bias_pingpong<BN = 160>,
    gemm_bias_pingpong<BN = 128>,
    gemm_bias_pingpong<BN = 64>,
    gemm_bias_pingpong<BN = 160, CLUSTER = 2>,
    gemm_bias_pingpong<BN = 128, CLUSTER = 2>,
    gemm_bias_pingpong<BM = 64, BN = 128>,
    gemm_bias_pingpong<BM = 64, BN = 64>,
    gemm_bias_swapped<BM = 8>,
    gemm_bias_swapped<BM = 16>,
    gemm_bias_swapped<BM = 32>,
    gemm_bias_swapped<BM = 32, BN = 128>,
    gemm_bias_swapped<BM = 64>,
    gemm_bias_swapped<BM = 64, BN = 128>,
    gemm_bias_swapped<BM = 96>,
    gemm_bias_swapped<BM = 128>,
    gemm_bias_swapped<BM = 128, BN = 128>,
    gemm_bias_swapped<BM = 136, BN = 128>,
    gemm_bias_swapped<BM = 208, BN = 128>,
    gemm_bias_swapped_split<BM = 8>,
    gemm_bias_swapped_split<BM = 8, SPLIT = 8>,
    gemm_bias_swapped_split<BM = 16>,
    gemm_bias_swapped_split<BM = 32>,
    gemm_bias_swapped_split<BM = 32, SPLIT = 4>,
    gemm_bias_swapped_split<BM = 32, SPLIT = 8>,
    gemm_bias_swapped_split<BM = 64>,
    gemm_bias_swapped_split<BM = 64, SPLIT = 4>,
    gemm_bias_split<BN = 64, SPLIT = 4>,
    gemm_bias_split<BN = 128>,
    gemm_bias_split<BN = 96>,
    gemm_bias_split<BN = 32>,
    gemm_bias_any<BM = 128, BN = 128>,
    gemm_bias_any<BM = 64>,
    gemm_bias_short<BM = 64, BN = 64>,
    gemm_bias_short<BM = 64, BN = 128>,
    gemm_bias_short<BM = 128, BN = 128>,
)]
kernel gemm_bias<
    T: type = bf16,
    BM = 128,
    BN = 256,
    BK = 64,
    GROUP = 8,
    W = if BN % 64 == 0 { 64 } else if BN % 32 == 0 { 32 } else { 16 },
    SLOTS = 2,
    CLUSTER = 1,
    STAGES = (231424 - 2 * BM * W * SLOTS - 4 * BN) / (2 * (BM + BN) * BK),
    ACT: fn = identity,
>(a: T[m, k] : [a0, a1], b: T[n, k] : [b0, b1], bias: T[n], c: mut T[m, n] : [c0, 1])
    where BN % W == 0
    tune BM in [64, 128, 256], BN in 64..=256 step 16, BK in [32, 64]
    grid [CLUSTER * min(multiprocessors / CLUSTER, cdiv(m, CLUSTER * BM) * cdiv(n, BN))]
    cluster [CLUSTER]
{
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        // 24 registers, the default, are too few for threads that copy what no box takes.
        producer registers 40 {
            feed_all<GROUP = GROUP, CLUSTER = CLUSTER>(a, b, sa, sb, pipe);
        }
        consumer (BM / 64) {
            share<ACT = ACT, GROUP = GROUP, CLUSTER = CLUSTER, W = W, SLOTS = SLOTS, IS_ADDED = false>(
                sa,
                sb,
                pipe,
                bias,
                c,
                c,
                cdiv(k, BK),
            );
        }
    }
}

/// As `gemm_bias`, but each group has tiles of its own: one multiplies while the other stores.
kernel gemm_bias_pingpong<
    T: type = bf16,
    BM = 128,
    BN = 128,
    BK = 64,
    GROUP = 8,
    W = if BN % 64 == 0 && BN <= 128 { 64 } else if BN % 32 == 0 && BN <= 160 { 32 } else { 16 },
    SLOTS = 2,
    CLUSTER = 1,
    STAGES = (231424 - 4 * BM * W * SLOTS - 8 * BN) / (2 * (BM + BN) * BK),
    ACT: fn = identity,
>(a: T[m, k] : [a0, a1], b: T[n, k] : [b0, b1], bias: T[n], c: mut T[m, n] : [c0, 1])
    where BN % W == 0
    tune BM in [64, 128, 256], BN in 64..=192 step 16, BK in [32, 64]
    grid [CLUSTER * min(multiprocessors / CLUSTER, cdiv(m, CLUSTER * BM) * cdiv(n, BN))]
    cluster [CLUSTER]
{
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let (pipe, multiplying) = (pipeline(STAGES, readers: 1), turns());
    warp_groups {
        producer registers 40 {
            feed_all<GROUP = GROUP, CLUSTER = CLUSTER>(a, b, sa, sb, pipe);
        }
        consumer each 2 (g) {
            alternate<ACT = ACT, GROUP = GROUP, CLUSTER = CLUSTER, W = W, SLOTS = SLOTS, IS_ADDED = false>(
                sa,
                sb,
                pipe,
                multiplying,
                bias,
                c,
                c,
                cdiv(k, BK),
                g,
            );
        }
    }
}

/// As `gemm_bias`, for few rows of `a`, as `std::gemm::gemm_swapped`.
kernel gemm_bias_swapped<
    T: type = bf16,
    BM = 16,
    BN = 64,
    BK = 64,
    STAGES = 98304 / ((BM + BN) * BK),
    ACT: fn = identity,
>(a: T[m, k] : [a0, a1], b: T[n, k] : [b0, b1], bias: T[n], c: mut T[m, n] : [c0, 1])
    where BN % 64 == 0
    tune BM in [8, 16, 32, 64, 128], BN in [64, 128, 192], BK in [64, 128]
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 40 {
            feed_swapped(a, b, sa, sb, pipe);
        }
        consumer (BN / 64) {
            share_swapped<ACT = ACT, IS_ADDED = false>(sa, sb, pipe, bias, c, c, cdiv(k, BK));
        }
    }
}

/// As `gemm_bias`, for any number of columns and any strides.
kernel gemm_bias_any<T: type = bf16, BM = 64, BN = 64, BK = 64, ACT: fn = identity>(
    a: T[m, k] : [a0, a1],
    b: T[n, k] : [b0, b1],
    bias: T[n],
    c: mut T[m, n] : [c0, 1],
)
    where BM % 64 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128 * (BM / 64)
{
    let [bm, bn] = block_idx;
    compute_any<ACT = ACT, BM = BM, BN = BN, BK = BK, IS_ADDED = false>(a, b, bias, c, c, bm, bn);
}

/// c[m, n] = ACT(a[m, k] · b[n, k]ᵀ + bias[n]) + residual[m, n], as `gemm_bias`.
#[family(
    gemm_residual<BN = 256>,
    gemm_residual<BN = 208>,
    gemm_residual<BN = 192>,
    gemm_residual<BN = 176>,
    gemm_residual<BN = 128>,
    gemm_residual<BN = 256, CLUSTER = 2>,
    gemm_residual<BN = 192, CLUSTER = 2>,
    gemm_residual<BM = 192, BN = 208>,
    gemm_residual<BM = 192, BN = 160>,
    gemm_residual<BM = 192, BN = 208, CLUSTER = 2>,
    gemm_residual<BM = 192, BN = 160, CLUSTER = 2>,
    gemm_residual<BM = 64, BN = 128>,
    gemm_residual_pingpong<BN = 192>,
    gemm_residual_pingpong<BN = 176>,
    gemm_residual_pingpong<BN = 160>,
    gemm_residual_pingpong<BN = 128>,
    gemm_residual_pingpong<BN = 64>,
    gemm_residual_pingpong<BN = 160, CLUSTER = 2>,
    gemm_residual_pingpong<BN = 128, CLUSTER = 2>,
    gemm_residual_pingpong<BM = 64, BN = 128>,
    gemm_residual_pingpong<BM = 64, BN = 64>,
    gemm_residual_swapped<BM = 8>,
    gemm_residual_swapped<BM = 16>,
    gemm_residual_swapped<BM = 32>,
    gemm_residual_swapped<BM = 32, BN = 128>,
    gemm_residual_swapped<BM = 64>,
    gemm_residual_swapped<BM = 64, BN = 128>,
    gemm_residual_swapped<BM = 96>,
    gemm_residual_swapped<BM = 128>,
    gemm_residual_swapped<BM = 128, BN = 128>,
    gemm_residual_swapped<BM = 136, BN = 128>,
    gemm_residual_swapped<BM = 208, BN = 128>,
    gemm_residual_swapped_split<BM = 8>,
    gemm_residual_swapped_split<BM = 8, SPLIT = 8>,
    gemm_residual_swapped_split<BM = 16>,
    gemm_residual_swapped_split<BM = 32>,
    gemm_residual_swapped_split<BM = 32, SPLIT = 4>,
    gemm_residual_swapped_split<BM = 32, SPLIT = 8>,
    gemm_residual_swapped_split<BM = 64>,
    gemm_residual_swapped_split<BM = 64, SPLIT = 4>,
    gemm_residual_split<BN = 64, SPLIT = 4>,
    gemm_residual_split<BN = 128>,
    gemm_residual_split<BN = 96>,
    gemm_residual_split<BN = 32>,
    gemm_residual_any<BM = 128, BN = 128>,
    gemm_residual_any<BM = 64>,
)]
kernel gemm_residual<
    T: type = bf16,
    BM = 128,
    BN = 256,
    BK = 64,
    GROUP = 8,
    W = if BN % 64 == 0 { 64 } else if BN % 32 == 0 { 32 } else { 16 },
    SLOTS = 2,
    CLUSTER = 1,
    STAGES = (231424 - 2 * BM * W * SLOTS - 4 * BN) / (2 * (BM + BN) * BK),
    ACT: fn = identity,
>(
    a: T[m, k] : [a0, a1],
    b: T[n, k] : [b0, b1],
    bias: T[n],
    residual: T[m, n] : [r0, 1],
    c: mut T[m, n] : [c0, 1],
)
    where BN % W == 0
    tune BM in [64, 128, 256], BN in 64..=256 step 16, BK in [32, 64]
    grid [CLUSTER * min(multiprocessors / CLUSTER, cdiv(m, CLUSTER * BM) * cdiv(n, BN))]
    cluster [CLUSTER]
{
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        // 24 registers, the default, are too few for threads that copy what no box takes.
        producer registers 40 {
            feed_all<GROUP = GROUP, CLUSTER = CLUSTER>(a, b, sa, sb, pipe);
        }
        consumer (BM / 64) {
            share<ACT = ACT, GROUP = GROUP, CLUSTER = CLUSTER, W = W, SLOTS = SLOTS, IS_ADDED = true>(
                sa,
                sb,
                pipe,
                bias,
                residual,
                c,
                cdiv(k, BK),
            );
        }
    }
}

/// As `gemm_residual`, but each group has tiles of its own: one multiplies while the other stores. The residual of a whole tile comes while the
/// product runs.
kernel gemm_residual_pingpong<
    T: type = bf16,
    BM = 128,
    BN = 128,
    BK = 64,
    GROUP = 8,
    W = if BN % 64 == 0 && BN <= 128 { 64 } else if BN % 32 == 0 && BN <= 160 { 32 } else { 16 },
    SLOTS = BN / W,
    CLUSTER = 1,
    STAGES = (231424 - 4 * BM * W * SLOTS - 8 * BN) / (2 * (BM + BN) * BK),
    ACT: fn = identity,
>(
    a: T[m, k] : [a0, a1],
    b: T[n, k] : [b0, b1],
    bias: T[n],
    residual: T[m, n] : [r0, 1],
    c: mut T[m, n] : [c0, 1],
)
    where BN % W == 0
    tune BM in [64, 128, 256], BN in 64..=192 step 16, BK in [32, 64]
    grid [CLUSTER * min(multiprocessors / CLUSTER, cdiv(m, CLUSTER * BM) * cdiv(n, BN))]
    cluster [CLUSTER]
{
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let (pipe, multiplying) = (pipeline(STAGES, readers: 1), turns());
    warp_groups {
        producer registers 40 {
            feed_all<GROUP = GROUP, CLUSTER = CLUSTER>(a, b, sa, sb, pipe);
        }
        consumer each 2 (g) {
            alternate<ACT = ACT, GROUP = GROUP, CLUSTER = CLUSTER, W = W, SLOTS = SLOTS, IS_ADDED = true>(
                sa,
                sb,
                pipe,
                multiplying,
                bias,
                residual,
                c,
                cdiv(k, BK),
                g,
            );
        }
    }
}

/// As `gemm_residual`, for few rows of `a`, as `std::gemm::gemm_swapped`.
kernel gemm_residual_swapped<
    T: type = bf16,
    BM = 16,
    BN = 64,
    BK = 64,
    STAGES = 98304 / ((BM + BN) * BK),
    ACT: fn = identity,
>(
    a: T[m, k] : [a0, a1],
    b: T[n, k] : [b0, b1],
    bias: T[n],
    residual: T[m, n] : [r0, 1],
    c: mut T[m, n] : [c0, 1],
)
    where BN % 64 == 0
    tune BM in [8, 16, 32, 64, 128], BN in [64, 128, 192], BK in [64, 128]
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 40 {
            feed_swapped(a, b, sa, sb, pipe);
        }
        consumer (BN / 64) {
            share_swapped<ACT = ACT, IS_ADDED = true>(sa, sb, pipe, bias, residual, c, cdiv(k, BK));
        }
    }
}

/// As `gemm_residual`, for any number of columns and any strides.
kernel gemm_residual_any<T: type = bf16, BM = 64, BN = 64, BK = 64, ACT: fn = identity>(
    a: T[m, k] : [a0, a1],
    b: T[n, k] : [b0, b1],
    bias: T[n],
    residual: T[m, n] : [r0, 1],
    c: mut T[m, n] : [c0, 1],
)
    where BM % 64 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128 * (BM / 64)
{
    let [bm, bn] = block_idx;
    compute_any<ACT = ACT, BM = BM, BN = BN, BK = BK, IS_ADDED = true>(a, b, bias, residual, c, bm, bn);
}

test "gemm_bias and gemm_residual" for (m, n, k, act) in [(128, 128, 64, identity), (200, 328, 136, gelu)] {
    let a = randn(bf16, [m, k], seed: 1);
    let b = randn(bf16, [n, k], seed: 2);
    let bias = randn(bf16, [n], seed: 3);
    let residual = randn(bf16, [m, n], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    let x = a @ b.T + bias;
    let y = if act == gelu { x * 0.5 * (1.0 + erf(x * 0.7071067811865476)) } else { x };
    gemm_bias<BN = 256, ACT = act>(a, b, bias, c);
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    assert_close(c, y, ulp: 4);
    gemm_residual<BN = 256, ACT = act>(a, b, bias, residual, d);
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    assert_close(d, y + residual, ulp: 4);
}

test "gemm_bias_pingpong and gemm_residual_pingpong" for (bn, act) in [
    (128, identity),
    (128, gelu),
    (176, gelu),
] {
    let (m, n, k) = (200, 328, 136);
    let a = randn(bf16, [m, k], seed: 1);
    let b = randn(bf16, [n, k], seed: 2);
    let bias = randn(bf16, [n], seed: 3);
    let residual = randn(bf16, [m, n], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    let x = a @ b.T + bias;
    let y = if act == gelu { x * 0.5 * (1.0 + erf(x * 0.7071067811865476)) } else { x };
    gemm_bias_pingpong<BN = bn, ACT = act>(a, b, bias, c);
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    assert_close(c, y, ulp: 4);
    gemm_residual_pingpong<BN = bn, ACT = act>(a, b, bias, residual, d);
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    assert_close(d, y + residual, ulp: 4);
}

test "fused products of few rows" for (m, n, k) in [
    (16, 200, 200),
    (5, 64, 72),
    (100, 136, 64),
    (9, 4200, 128),
] {
    let a = randn(bf16, [m, k], seed: 1);
    let b = randn(bf16, [n, k], seed: 2);
    let bias = randn(bf16, [n], seed: 3);
    let residual = randn(bf16, [m, n], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm_bias_swapped<STAGES = 3, ACT = relu>(a, b, bias, c);
    assert(conflicts() == 0 && spills() == 0);
    assert_close(c, max(a @ b.T + bias, 0.0), ulp: 4);
    gemm_residual_swapped<BM = 64, BN = 128, ACT = relu>(a, b, bias, residual, d);
    assert(spills() == 0);
    assert_close(d, max(a @ b.T + bias, 0.0) + residual, ulp: 4);
}

test "fused products of any shape" for (m, n, k) in [(1, 1, 1), (70, 71, 135), (200, 72, 264)] {
    let a = randn(bf16, [m, k], seed: 1);
    let b = randn(bf16, [n, k], seed: 2);
    let bias = randn(bf16, [n], seed: 3);
    let residual = randn(bf16, [m, n], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm_bias<ACT = relu>(a, b, bias, c);
    assert_close(c, max(a @ b.T + bias, 0.0), ulp: 4);
    gemm_residual(a, b, bias, residual, d);
    assert_close(d, a @ b.T + bias + residual, ulp: 4);
}

test "fused products in more rounds than stages" for (m, n, k) in [(264, 136, 72), (5, 8, 16), (33, 50, 36)] {
    let a = randn(f16, [m, k], seed: 5);
    let b = randn(f16, [n, k], seed: 6);
    let bias = randn(f16, [n], seed: 7);
    let residual = randn(f16, [m, n], seed: 8);
    let (c, d) = (empty(f16, [m, n]), empty(f16, [m, n]));
    gemm_bias<BN = 64, BK = 32, STAGES = 2, GROUP = 2>(a, b, bias, c);
    assert_close(c, a @ b.T + bias, ulp: 4);
    gemm_residual<BN = 96, W = 16, BK = 32, STAGES = 2, GROUP = 2>(a, b, bias, residual, d);
    assert_close(d, a @ b.T + bias + residual, ulp: 4);
    gemm_bias_pingpong<BM = 64, BN = 64, BK = 32, STAGES = 2, GROUP = 2>(a, b, bias, c);
    assert_close(c, a @ b.T + bias, ulp: 4);
    gemm_residual_pingpong<BM = 64, BN = 64, BK = 32, STAGES = 2, GROUP = 2>(a, b, bias, residual, d);
    assert_close(d, a @ b.T + bias + residual, ulp: 4);
}

test "fused products in clusters of two" for (m, n, k) in [(300, 264, 136), (520, 136, 72), (5, 50, 36)] {
    let a = randn(bf16, [m, k], seed: 9);
    let b = randn(bf16, [n, k], seed: 10);
    let bias = randn(bf16, [n], seed: 11);
    let residual = randn(bf16, [m, n], seed: 12);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm_bias<BN = 192, CLUSTER = 2>(a, b, bias, c);
    assert_close(c, a @ b.T + bias, ulp: 4);
    gemm_bias_pingpong<CLUSTER = 2, ACT = relu>(a, b, bias, d);
    assert_close(d, max(a @ b.T + bias, 0.0), ulp: 4);
    gemm_residual<BN = 192, CLUSTER = 2>(a, b, bias, residual, c);
    assert_close(c, a @ b.T + bias + residual, ulp: 4);
    gemm_residual_pingpong<CLUSTER = 2, ACT = relu>(a, b, bias, residual, d);
    assert_close(d, max(a @ b.T + bias, 0.0) + residual, ulp: 4);
}

bench "gemm_residual 4096" {
    let a = randn(bf16, [4096, 4096], seed: 1);
    let b = randn(bf16, [4096, 4096], seed: 2);
    let bias = randn(bf16, [4096], seed: 3);
    let residual = randn(bf16, [4096, 4096], seed: 4);
    let c = empty(bf16, [4096, 4096]);
    measure flops 2 * 4096 * 4096 * 4096 { gemm_bias<ACT = gelu>(a, b, bias, c) }
    measure flops 2 * 4096 * 4096 * 4096 { gemm_residual<ACT = gelu>(a, b, bias, residual, c) }
    baseline cublas::gemm(a, b.T, c)
}

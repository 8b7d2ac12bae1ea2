//! Matrix products of Hopper for few tiles: the blocks of a cluster share a tile of the result, and each multiplies a part of K.
//!
//! A grid of tiles leaves multiprocessors idle if `c` has fewer tiles than the device has multiprocessors. `SPLIT` blocks of a cluster
//! then compute one tile together: each has a share of the steps along K, and they add up their sums through shared memory.

use std::activations::{identity, relu};
use std::gemm::multiply;

/// Copies tiles of one product into stages: those of `steps` steps along K from step `first` on.
fn feed_steps<T: type>(
    a: T[m, k],
    b: T[n, k],
    sa: shared mut T[M, K, S],
    sb: shared mut T[N, K, S],
    pipe: pipeline,
    bm: i64,
    bn: i64,
    first: i64,
    steps: i64,
) {
    for i in 0..steps {
        let s = pipe.acquire();
        copy_async(tile(a, [M, K])[.., .., bm, first + i], sa[.., .., s], signal: pipe);
        copy_async(tile(b, [N, K])[.., .., bn, first + i], sb[.., .., s], signal: pipe);
    }
}

/// c[m, n] = EPILOGUE(a[m, k] · b[n, k]ᵀ), element by element. Clusters of `SPLIT` blocks walk over the tiles. Each block of a cluster
/// multiplies its share of the steps along K, gets the sum of its part of the columns from all blocks, and stores it `W` columns at a
/// time. As many stages as fit beside the slots of the sum and of the stores, for elements of 2 bytes.
kernel gemm_split<
    BM = 128,
    BN = 128,
    BK = 64,
    SPLIT = 2,
    W = if BN / SPLIT % 64 == 0 { 64 } else if BN / SPLIT % 32 == 0 { 32 } else { 16 },
    SLOTS = 2,
    STAGES = (231424 - 2 * BM * W * SLOTS - min(65536, 4 * (SPLIT - 1) * BM * BN / SPLIT))
        / (2 * (BM + BN) * BK),
    T: type = bf16,
    EPILOGUE: fn = identity,
>(a: T[m, k], b: T[n, k], c: mut T[m, n])
    where BM % 64 == 0 && BN % (SPLIT * W) == 0
    tune BM in [64, 128], BN in [64, 96, 128, 160, 192, 224, 256], BK in [64, 128], SPLIT in [2, 4]
    grid [SPLIT * min(multiprocessors / SPLIT, cdiv(m, BM) * cdiv(n, BN))]
    cluster [SPLIT]
{
    let (rank, cluster, clusters) = (block_idx % SPLIT, block_idx / SPLIT, grid_dim / SPLIT);
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - cluster, clusters);
    let (first, end) = (rank * steps / SPLIT, (rank + 1) * steps / SPLIT);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        // 24 registers, the default, are too few for threads that copy what no box takes.
        producer registers 40 {
            for w in 0..rounds {
                let t = cluster + w * clusters;
                feed_steps(a, b, sa, sb, pipe, t % rows, t / rows, first, end - first);
            }
        }
        consumer (BM / 64) {
            let acc = register_tensor(f32, [BM, BN]);
            let slots = shared_tensor(T, [BM, W, SLOTS]);
            for w in 0..rounds {
                let t = cluster + w * clusters;
                multiply(acc, sa, sb, pipe, end - first);
                gemm_wait(0);
                pipe.release();
                let part = sum(acc, cluster: 0, scatter: 1);
                #[unroll]
                for j in 0..BN / SPLIT / W {
                    let slot = (w * (BN / SPLIT / W) + j) % SLOTS;
                    wait_stores(SLOTS - 1);
                    sync();
                    copy(cast(EPILOGUE(part[.., j * W..(j + 1) * W]), T), slots[.., .., slot]);
                    sync();
                    let column = (t / rows * SPLIT + rank) * (BN / SPLIT / W) + j;
                    copy_async(slots[.., .., slot], tile(c, [BM, W])[.., .., t % rows, column]);
                }
            }
        }
    }
}

/// As `gemm_split`, for few rows of `a`: the product is computed as its transpose, so `BM` may be as small as 8. The first block of
/// a cluster adds up the tile and stores it. The ring has many stages, which keep the memory busy.
kernel gemm_swapped_split<
    BM = 16,
    BN = 64,
    BK = 64,
    SPLIT = 2,
    STAGES = (231424 - 2 * BM * BN - min(65536, 4 * (SPLIT - 1) * BM * BN)) / (2 * (BM + BN) * BK),
    T: type = bf16,
    EPILOGUE: fn = identity,
>(a: T[m, k], b: T[n, k], c: mut T[m, n])
    where BN % 64 == 0
    tune BM in [8, 16, 32, 64, 128], BN in [64, 128, 192], BK in [64, 128], SPLIT in [2, 4, 8]
    grid [SPLIT * min(multiprocessors / SPLIT, cdiv(m, BM) * cdiv(n, BN))]
    cluster [SPLIT]
{
    let (rank, cluster, clusters) = (block_idx % SPLIT, block_idx / SPLIT, grid_dim / SPLIT);
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - cluster, clusters);
    let (first, end) = (rank * steps / SPLIT, (rank + 1) * steps / SPLIT);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 40 {
            for w in 0..rounds {
                let t = cluster + w * clusters;
                feed_steps(b, a, sb, sa, pipe, t / rows, t % rows, first, end - first);
            }
        }
        consumer (BN / 64) {
            let acc = register_tensor(f32, [BN, BM]);
            let slot = shared_tensor(T, [BM, BN]);
            for w in 0..rounds {
                let t = cluster + w * clusters;
                multiply(acc, sb, sa, pipe, end - first);
                gemm_wait(0);
                pipe.release();
                let total = sum(acc, cluster: 0, to: 0);
                if rank == 0 {
                    wait_stores(0);
                    sync();
                    copy(cast(EPILOGUE(total), T), slot.T);
                    sync();
                    copy_async(slot, tile(c, [BM, BN])[.., .., t % rows, t / rows]);
                }
            }
        }
    }
}

/// As `std::gemm_any::gemm_any`, for few tiles: the blocks of a cluster share the steps along K of each tile, and the first one adds up their sums.
kernel gemm_any_split<
    T: type = bf16,
    U: type = T,
    OUT: type = if T == f16 || T == bf16 { T } else if T == tf32 { f32 } else { bf16 },
    BM = 64,
    BN = 64,
    BK = if T == f16 || T == bf16 { 128 } else if T == tf32 { 64 } else { 256 },
    SPLIT = 8,
    EPILOGUE: fn = identity,
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    where BM % 64 == 0
    grid [SPLIT, cdiv(m, BM), cdiv(n, BN)]
    threads 128 * (BM / 64)
    cluster [SPLIT, 1, 1]
{
    let [rank, bm, bn] = block_idx;
    let (ga, gb) = (tile(a, [BM, BK])[.., .., bm, ..], tile(b, [BN, BK])[.., .., bn, ..]);
    let (sa, sb) = (shared_tensor(T, [BM, BK]), shared_tensor(U, [BN, BK]));
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0);
    let (ra, rb) = (register_tensor(T, [BM, BK]), register_tensor(U, [BN, BK]));
    copy(ga[.., .., rank], ra);
    copy(gb[.., .., rank], rb);
    for i in 0..cdiv(cdiv(k, BK), SPLIT) {
        sync();
        copy(ra, sa);
        copy(rb, sb);
        sync();
        let next = (i + 1) * SPLIT + rank;
        copy(ga[.., .., next], ra);
        copy(gb[.., .., next], rb);
        gemm(acc, sa, sb);
    }
    let total = sum(acc, cluster: 0, to: 0);
    if rank == 0 {
        let sc = shared_tensor(OUT, [BM, BN]);
        copy(cast(EPILOGUE(total), OUT), sc);
        sync();
        copy(load(sc), tile(c, [BM, BN])[.., .., bm, bn]);
    }
}

test "gemm_any_split" for (m, n, k) in [(16, 57, 2511), (70, 71, 1135), (1, 1, 1)] {
    let a = randn(bf16, [m, k], seed: 3);
    let b = randn(bf16, [n, k], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm_any_split(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    gemm_any_split<BN = 32, SPLIT = 4, EPILOGUE = relu>(a, b, d);
    assert_close(d, max(a @ b.T, 0.0), ulp: 4);
    assert(spills() == 0);
}

test "a product split along K" for (m, n, k) in [
    (128, 256, 256),
    (300, 520, 136),
    (1000, 72, 40),
    (5, 8, 16),
] {
    let a = randn(bf16, [m, k], seed: 1);
    let b = randn(bf16, [n, k], seed: 2);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm_split<BN = 64, BK = 32, STAGES = 3>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(uses("wgmma") == supports("wgmma") && uses("st.async") && conflicts() == 0 && spills() == 0);
    gemm_split<BN = 128, BK = 32, STAGES = 3, SPLIT = 4>(a, b, d);
    assert_close(d, a @ b.T, ulp: 4);
    assert(conflicts() == 0 && spills() == 0);
}

test "a product of few rows split along K" for (m, n, k) in [
    (16, 200, 200),
    (5, 64, 72),
    (100, 136, 64),
    (9, 8400, 128),
] {
    let a = randn(bf16, [m, k], seed: 3);
    let b = randn(bf16, [n, k], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm_swapped_split<STAGES = 3>(a, b, c);
    assert(
        uses("tma.load")
            && uses("tma.store")
            && uses("wgmma") == supports("wgmma")
            && uses("stmatrix.x4.trans"),
    );
    assert(conflicts() == 0 && spills() == 0);
    assert_close(c, a @ b.T, ulp: 4);
    gemm_swapped_split<BM = 8, BN = 128, SPLIT = 4, STAGES = 3, EPILOGUE = relu>(a, b, d);
    assert_close(d, max(a @ b.T, 0.0), ulp: 4);
    assert(spills() == 0);
}

bench "a product split along K" {
    let a = randn(bf16, [512, 16384], seed: 1);
    let b = randn(bf16, [1024, 16384], seed: 2);
    let c = empty(bf16, [512, 1024]);
    measure flops 2 * 512 * 1024 * 16384 { gemm_split(a, b, c) }
    measure flops 2 * 512 * 1024 * 16384 { gemm_split<SPLIT = 4>(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

bench "a product of few rows split along K" {
    let a = randn(bf16, [16, 16384], seed: 1);
    let b = randn(bf16, [2048, 16384], seed: 2);
    let c = empty(bf16, [16, 2048]);
    measure flops 2 * 16 * 2048 * 16384 { gemm_swapped_split(a, b, c) }
    measure flops 2 * 16 * 2048 * 16384 { gemm_swapped_split<SPLIT = 4>(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

bench "gemm_any_split of few rows and columns" {
    let a = randn(bf16, [44, 15331]);
    let b = randn(bf16, [17, 15331]);
    let c = empty(bf16, [44, 17]);
    measure flops 2 * 44 * 17 * 15331 { gemm_any_split(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

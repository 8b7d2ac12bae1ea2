//! Matrix products of Hopper for few tiles: the blocks of a cluster share a tile of the result, and each multiplies a part of K.
//!
//! A grid of tiles leaves multiprocessors idle if `c` has fewer tiles than the device has multiprocessors. `SPLIT` blocks of a cluster
//! then compute one tile together: each has a share of the steps along K, and they add up their sums through shared memory.

use std::activations::{identity, relu};
use std::gemm::{finish, multiply, store};

/// Copies tiles of one product into stages: those of `steps` steps along K from step `first` on.
fn feed_steps<T: type, U: type>(
    a: T[m, k],
    b: U[n, k],
    sa: shared mut T[M, K, S],
    sb: shared mut U[N, K, S],
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
/// time. The operands are those of `std::gemm::gemm`. As many stages as fit beside the slots of the sum and of the stores.
kernel gemm_split<
    T: type = bf16,
    U: type = T,
    ACC: type = if T == i8 || T == u8 { i32 } else { f32 },
    OUT: type = if T == f16 || T == bf16 { T } else if ACC == i32 || T == tf32 { ACC } else { bf16 },
    BM = 128,
    BN = 128,
    BK = if T == f16 || T == bf16 { 64 } else if T == tf32 { 32 } else { 128 },
    SPLIT = 2,
    W = (if BN / SPLIT % 64 == 0 { 64 } else if BN / SPLIT % 32 == 0 { 32 } else { 16 })
        / (if OUT == f32 || OUT == i32 { 2 } else { 1 }),
    SLOTS = 2,
    STAGES = (
        231424
            - (if OUT == f32 || OUT == i32 { 4 } else { 2 }) * BM * W * SLOTS
            - min(65536, 4 * (SPLIT - 1) * BM * BN / SPLIT)
    )
        / ((if T == f16 || T == bf16 { 2 } else if T == tf32 { 4 } else { 1 }) * (BM + BN) * BK),
    EPILOGUE: fn = identity,
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    where BM % 64 == 0 && BN % (SPLIT * W) == 0, T == f16 || T == bf16 || (a1 == 1 && b1 == 1)
    tune BM in [64, 128], BN in [64, 96, 128, 160, 192, 224, 256], BK in [64, 128], SPLIT in [2, 4]
    grid [SPLIT * min(multiprocessors / SPLIT, cdiv(m, BM) * cdiv(n, BN))]
    cluster [SPLIT]
{
    let (rank, cluster, clusters) = (block_idx % SPLIT, block_idx / SPLIT, grid_dim / SPLIT);
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - cluster, clusters);
    let (first, end) = (rank * steps / SPLIT, (rank + 1) * steps / SPLIT);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
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
            let acc = register_tensor(ACC, [BM, BN]);
            let slots = shared_tensor(OUT, [BM, W, SLOTS]);
            for w in 0..rounds {
                let t = cluster + w * clusters;
                multiply(acc, sa, sb, pipe, end - first);
                gemm_wait(0);
                pipe.release();
                let part = sum(acc, cluster: 0, scatter: 1);
                store<EPILOGUE = EPILOGUE>(
                    part,
                    slots,
                    c,
                    t % rows,
                    t / rows * SPLIT + rank,
                    w * (BN / SPLIT / W),
                );
            }
        }
    }
}

/// As `gemm_split`, for few rows of `a`: the product is computed as its transpose, so `BM` may be as small as 8. The first block of
/// a cluster adds up the tile and stores it. The ring has many stages, which keep the memory busy.
kernel gemm_swapped_split<
    T: type = bf16,
    U: type = T,
    ACC: type = if T == i8 || T == u8 { i32 } else { f32 },
    OUT: type = if T == f16 || T == bf16 { T } else if ACC == i32 || T == tf32 { ACC } else { bf16 },
    BM = 16,
    BN = 64,
    BK = if T == f16 || T == bf16 { 64 } else if T == tf32 { 32 } else { 128 },
    SPLIT = 2,
    STAGES = (
        231424
            - (if OUT == f32 || OUT == i32 { 4 } else { 2 }) * BM * BN
            - min(65536, 4 * (SPLIT - 1) * BM * BN)
    )
        / ((if T == f16 || T == bf16 { 2 } else if T == tf32 { 4 } else { 1 }) * (BM + BN) * BK),
    EPILOGUE: fn = identity,
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    where BN % 64 == 0, T == f16 || T == bf16 || (a1 == 1 && b1 == 1)
    tune BM in [8, 16, 32, 64, 128], BN in [64, 128, 192], BK in [64, 128], SPLIT in [2, 4, 8]
    grid [SPLIT * min(multiprocessors / SPLIT, cdiv(m, BM) * cdiv(n, BN))]
    cluster [SPLIT]
{
    let (rank, cluster, clusters) = (block_idx % SPLIT, block_idx / SPLIT, grid_dim / SPLIT);
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - cluster, clusters);
    let (first, end) = (rank * steps / SPLIT, (rank + 1) * steps / SPLIT);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 40 {
            for w in 0..rounds {
                let t = cluster + w * clusters;
                feed_steps(b, a, sb, sa, pipe, t / rows, t % rows, first, end - first);
            }
        }
        consumer (BN / 64) {
            let acc = register_tensor(ACC, [BN, BM]);
            let slot = shared_tensor(OUT, [BM, BN]);
            for w in 0..rounds {
                let t = cluster + w * clusters;
                multiply(acc, sb, sa, pipe, end - first);
                gemm_wait(0);
                pipe.release();
                let total = sum(acc, cluster: 0, to: 0);
                if rank == 0 {
                    wait_stores(0);
                    sync();
                    finish<EPILOGUE = EPILOGUE>(total, slot.T);
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
    ACC: type = if T == i8 || T == u8 { i32 } else { f32 },
    OUT: type = if T == f16 || T == bf16 { T } else if ACC == i32 || T == tf32 { ACC } else { bf16 },
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
    let acc = register_tensor(ACC, [BM, BN]);
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
        finish<EPILOGUE = EPILOGUE>(total, sc);
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

test "products of other element types split along K" for (T, U, OUT) in [
    (tf32, tf32, f32),
    (f8e4m3, f8e4m3, bf16),
    (f8e5m2, f8e4m3, f16),
    (i8, i8, i32),
    (u8, i8, bf16),
] {
    let (m, n, k) = (72, 200, 464);
    // Integers over their whole range: `cast` saturates.
    let spread = if T == i8 || T == u8 { 60.0 } else { 1.0 };
    let a = cast(randn(f32, [m, k], seed: 12) * spread, T);
    let b = cast(randn(f32, [n, k], seed: 13) * spread, U);
    let (c, d, e) = (empty(OUT, [m, n]), empty(OUT, [m, n]), empty(OUT, [m, n]));
    gemm_split<BN = 64>(a, b, c);
    assert(uses("tma.load") && uses("tma.store") && uses("wgmma") == supports("wgmma"));
    assert(conflicts() == 0 && spills() == 0);
    gemm_swapped_split<SPLIT = 4>(a, b, d);
    assert(uses("tma.load") && uses("wgmma") == supports("wgmma") && spills() == 0);
    gemm_any_split<SPLIT = 2>(a, b, e);
    if OUT == i32 {
        assert_eq(c, a @ b.T);
        assert_eq(d, a @ b.T);
        assert_eq(e, a @ b.T);
    } else {
        // As in `std::gemm`: tensor cores add products of tf32 less exactly than the simulator.
        let ulp = if T == tf32 { 64 } else { 8 };
        assert_close(c, a @ b.T, ulp: ulp);
        assert_close(d, a @ b.T, ulp: ulp);
        assert_close(e, a @ b.T, ulp: ulp);
    }
}

test "a product split along K of operands along rows" {
    let a = randn(bf16, [136, 72], seed: 1).T;
    let b = randn(bf16, [136, 200], seed: 2).T;
    let (c, d) = (empty(bf16, [72, 200]), empty(bf16, [72, 200]));
    gemm_split<BN = 64>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    gemm_swapped_split(a, b, d);
    assert_close(d, a @ b.T, ulp: 4);
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

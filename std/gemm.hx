//! Matrix products of Hopper: one group of threads copies tiles into a ring of stages, others multiply them.

use std::activations::{gelu, identity, relu};
use std::gemm_any::gemm_any;
use std::gemm_short::gemm_short;
use std::gemm_skinny::gemm_skinny;
use std::gemm_split::{gemm_any_split, gemm_split, gemm_swapped_split};
use std::tiles::grouped;

/// Copies the tiles of one product into stages. The blocks of a cluster have the same tile of `b`: each brings its share to all of them.
fn feed<T: type, U: type, CLUSTER = 1>(
    a: T[m, k],
    b: U[n, k],
    sa: shared mut T[M, K, S],
    sb: shared mut U[N, K, S],
    pipe: pipeline,
    bm: i64,
    bn: i64,
) {
    for ki in 0..cdiv(k, K) {
        let s = pipe.acquire();
        copy_async(tile(a, [M, K])[.., .., bm, ki], sa[.., .., s], signal: pipe);
        if CLUSTER == 1 {
            copy_async(tile(b, [N, K])[.., .., bn, ki], sb[.., .., s], signal: pipe);
        } else {
            copy_async(tile(b, [N, K])[.., .., bn, ki], sb[.., .., s], signal: pipe, multicast: 0);
        }
    }
}

/// Multiplies `steps` stages. The last product is in flight at the end, and its stage is held.
fn multiply<T: type, U: type, ACC: type>(
    acc: register mut ACC[M, N],
    sa: shared T[M, K, S],
    sb: shared U[N, K, S],
    pipe: pipeline,
    steps: i64,
) {
    fill(acc, 0);
    for _ in 0..steps {
        let s = pipe.wait();
        gemm_async(acc, sa[.., .., s], sb[.., .., s]);
        gemm_wait(1);
        pipe.release_previous();
    }
}

/// As `multiply`, when it is the group's turn to. The product is complete, and the next tile of stages is left to another group.
fn multiply_in_turn<T: type, U: type, ACC: type>(
    acc: register mut ACC[M, N],
    sa: shared T[M, K, S],
    sb: shared U[N, K, S],
    pipe: pipeline,
    multiplying: turns,
    steps: i64,
) {
    multiplying.take();
    multiply(acc, sa, sb, pipe, steps);
    multiplying.pass();
    gemm_wait(0);
    pipe.release();
    pipe.skip(steps);
}

/// Applies a function to accumulators, in f32, and rounds the results to `OUT`. Sums of integers stay as they are if `OUT` is i32.
fn finish<ACC: type, OUT: type, EPILOGUE: fn>(x: register ACC[M, N], to: shared mut OUT[M, N]) {
    if ACC == f32 {
        copy(cast(EPILOGUE(x), OUT), to);
    } else if OUT == i32 {
        copy(x, to);
    } else {
        copy(cast(EPILOGUE(cast(x, f32)), OUT), to);
    }
}

/// Writes a tile in slices of `W` columns: from registers through `SLOTS` slots of shared memory. `stored` slices were written
/// before, so the slots alternate from tile to tile too.
fn store<ACC: type, OUT: type, EPILOGUE: fn>(
    acc: register ACC[M, N],
    slots: shared mut OUT[M, W, SLOTS],
    c: mut OUT[m, n],
    bm: i64,
    bn: i64,
    stored: i64,
) {
    #[unroll]
    for j in 0..N / W {
        let slot = (stored + j) % SLOTS;
        wait_stores(SLOTS - 1);
        sync();
        finish<EPILOGUE = EPILOGUE>(acc[.., j * W..(j + 1) * W], slots[.., .., slot]);
        sync();
        copy_async(slots[.., .., slot], tile(c, [M, W])[.., .., bm, bn * (N / W) + j]);
    }
}

/// c[m, n] = EPILOGUE(a[m, k] · b[n, k]ᵀ), element by element. Blocks walk over the tiles; groups of 64 rows share each tile. With `BN`
/// in steps of 16 the tiles of a product fill the multiprocessors more evenly. Tiles are stored `W` columns at a time. The blocks of a
/// cluster have `CLUSTER` tiles below each other, and read those of `b` once for all of them.
///
/// The operands are f16, bf16, tf32, floats of 8 bits or integers of 8 bits. Those of 16 bits may be contiguous along either
/// dimension, as in `gemm(a.T, b, c)`; the instructions read all others along K only.
/// A launch that gives none of the parameters of its tiles runs the member of the family that is fastest for its shape by the cost model.
#[family(
    gemm<BN = 256>,
    gemm<BN = 176>,
    gemm<BN = 128>,
    gemm<BM = 192, BN = 208>,
    gemm<BM = 192, BN = 160>,
    gemm<BN = 256, CLUSTER = 2>,
    gemm<BN = 192, CLUSTER = 2>,
    gemm<BM = 192, BN = 208, CLUSTER = 2>,
    gemm<BM = 192, BN = 160, CLUSTER = 2>,
    gemm<BM = 64, BN = 128, STAGES = 6, CLUSTER = 2>,
    gemm_pingpong<BN = 192>,
    gemm_pingpong<BN = 160>,
    gemm_pingpong<BN = 128>,
    gemm_pingpong<BN = 64, STAGES = 6>,
    gemm_pingpong<BN = 32, STAGES = 8>,
    gemm_pingpong<BN = 16, STAGES = 8>,
    gemm_pingpong<BM = 64, BN = 256>,
    gemm_pingpong<BN = 192, CLUSTER = 2>,
    gemm_pingpong<BN = 160, CLUSTER = 2>,
    gemm_pingpong<BN = 128, CLUSTER = 2>,
    gemm_swapped<BM = 8>,
    gemm_swapped<BM = 16>,
    gemm_swapped<BM = 32>,
    gemm_swapped<BM = 32, BN = 128>,
    gemm_swapped<BM = 48>,
    gemm_swapped<BM = 64>,
    gemm_swapped<BM = 64, BN = 128>,
    gemm_swapped<BM = 80, BN = 128>,
    gemm_swapped<BM = 96>,
    gemm_swapped<BM = 128>,
    gemm_swapped<BM = 128, BN = 128>,
    gemm_swapped<BM = 136, BN = 128>,
    gemm_swapped<BM = 208, BN = 128>,
    gemm_swapped_split<BM = 8>,
    gemm_swapped_split<BM = 8, SPLIT = 8>,
    gemm_swapped_split<BM = 16>,
    gemm_swapped_split<BM = 32>,
    gemm_swapped_split<BM = 32, SPLIT = 4>,
    gemm_swapped_split<BM = 32, SPLIT = 8>,
    gemm_swapped_split<BM = 64>,
    gemm_swapped_split<BM = 64, SPLIT = 4>,
    gemm_split<BN = 64, SPLIT = 4>,
    gemm_split<BN = 128>,
    gemm_split<BN = 96>,
    gemm_split<BN = 32>,
    gemm_any<BN = 128>,
    gemm_any<BN = 64>,
    gemm_any<BM = 64, BN = 64>,
    gemm_any_split<SPLIT = 4>,
    gemm_any_split<SPLIT = 8>,
    gemm_short<BM = 64, BN = 64>,
    gemm_short<BM = 64, BN = 128>,
    gemm_short<BM = 64, BN = 256>,
    gemm_skinny<BM = 1, BN = 4, BK = 2048>,
    gemm_skinny<BM = 4, BN = 1, BK = 2048>,
    gemm_skinny<BM = 1, BN = 8, BK = 512>,
    gemm_skinny<BM = 8, BN = 1, BK = 512>,
    gemm_skinny<BM = 2, BN = 4>,
    gemm_skinny<BM = 4, BN = 2>,
    gemm_skinny<BM = 2, BN = 8, BK = 512>,
    gemm_skinny<BM = 8, BN = 2, BK = 512>,
)]
kernel gemm<
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
    CLUSTER = 1,
    EPILOGUE: fn = identity,
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    where BN % W == 0, T == f16 || T == bf16 || (a1 == 1 && b1 == 1)
    tune BM in [64, 128, 192, 256], BN in 64..=256 step 16, BK in [64, 128], STAGES in 2..=7, GROUP in [8, 16]
    grid [CLUSTER * min(multiprocessors / CLUSTER, cdiv(m, CLUSTER * BM) * cdiv(n, BN))]
    cluster [CLUSTER]
{
    let (rank, cluster, clusters) = (block_idx % CLUSTER, block_idx / CLUSTER, grid_dim / CLUSTER);
    let (rows, columns, steps) = (cdiv(m, CLUSTER * BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - cluster, clusters);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        // 24 registers, the default, are too few for threads that copy what no box takes.
        producer registers 40 {
            for w in 0..rounds {
                let (bm, bn) = grouped<GROUP = GROUP>(cluster + w * clusters, rows, columns);
                feed<CLUSTER = CLUSTER>(a, b, sa, sb, pipe, CLUSTER * bm + rank, bn);
            }
        }
        consumer (BM / 64) {
            let acc = register_tensor(ACC, [BM, BN]);
            let slots = shared_tensor(OUT, [BM, W, SLOTS]);
            for w in 0..rounds {
                let (bm, bn) = grouped<GROUP = GROUP>(cluster + w * clusters, rows, columns);
                multiply(acc, sa, sb, pipe, steps);
                gemm_wait(0);
                pipe.release();
                store<EPILOGUE = EPILOGUE>(acc, slots, c, CLUSTER * bm + rank, bn, w * (BN / W));
            }
        }
    }
}

/// As `gemm`, but each group has tiles of its own: one multiplies while the other stores.
kernel gemm_pingpong<
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
    CLUSTER = 1,
    EPILOGUE: fn = identity,
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    where BN % W == 0, T == f16 || T == bf16 || (a1 == 1 && b1 == 1)
    tune BM in [64, 128, 256], BN in 64..=256 step 16, BK in [64, 128], STAGES in 2..=7, GROUP in [8, 16]
    grid [CLUSTER * min(multiprocessors / CLUSTER, cdiv(m, CLUSTER * BM) * cdiv(n, BN))]
    cluster [CLUSTER]
{
    let (rank, cluster, clusters) = (block_idx % CLUSTER, block_idx / CLUSTER, grid_dim / CLUSTER);
    let (rows, columns, steps) = (cdiv(m, CLUSTER * BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - cluster, clusters);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
    let (pipe, multiplying) = (pipeline(STAGES, readers: 1), turns());
    warp_groups {
        // Threads that copy what no box takes need more than 24 registers. Small tiles leave them enough.
        producer registers (if BN > 128 { 24 } else { 48 }) {
            for w in 0..rounds {
                let (bm, bn) = grouped<GROUP = GROUP>(cluster + w * clusters, rows, columns);
                feed<CLUSTER = CLUSTER>(a, b, sa, sb, pipe, CLUSTER * bm + rank, bn);
            }
        }
        consumer each 2 (g) {
            let acc = register_tensor(ACC, [BM, BN]);
            let slots = shared_tensor(OUT, [BM, W, SLOTS]);
            pipe.skip(g * steps);
            for i in 0..cdiv(rounds - g, 2) {
                let (bm, bn) = grouped<GROUP = GROUP>(cluster + (2 * i + g) * clusters, rows, columns);
                multiply_in_turn(acc, sa, sb, pipe, multiplying, steps);
                store<EPILOGUE = EPILOGUE>(acc, slots, c, CLUSTER * bm + rank, bn, i * (BN / W));
            }
        }
    }
}

/// As `gemm`, for few rows of `a`: the product is computed as its transpose, so `BM` may be as small as 8, and the ring has many
/// stages, 192 KB of them, which keep the memory busy. Each group of threads has 64 rows of `b`.
kernel gemm_swapped<
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
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    where BN % 64 == 0, T == f16 || T == bf16 || (a1 == 1 && b1 == 1)
    tune BM in [8, 16, 32, 64, 128], BN in [64, 128, 192], BK in [64, 128]
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - block_idx, grid_dim);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 40 {
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                feed(b, a, sb, sa, pipe, t / rows, t % rows);
            }
        }
        consumer (BN / 64) {
            let acc = register_tensor(ACC, [BN, BM]);
            let slot = shared_tensor(OUT, [BM, BN]);
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                multiply(acc, sb, sa, pipe, steps);
                gemm_wait(0);
                pipe.release();
                wait_stores(0);
                sync();
                finish<EPILOGUE = EPILOGUE>(acc, slot.T);
                sync();
                copy_async(slot, tile(c, [BM, BN])[.., .., t % rows, t / rows]);
            }
        }
    }
}

test "gemm" for (m, n, k) in [(128, 256, 64), (300, 520, 136)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let (c, d) = (empty(f16, [m, n]), empty(f16, [m, n]));
    gemm<BM = 128>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    gemm_pingpong(a, b, d);
    assert_close(d, a @ b.T, ulp: 4);
}

test "gemm in clusters of two" for (m, n, k) in [(1, 16, 8), (300, 264, 136), (520, 296, 72)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let (c, d, e) = (empty(f16, [m, n]), empty(f16, [m, n]), empty(f16, [m, n]));
    gemm<CLUSTER = 2>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(spills() == 0);
    gemm_pingpong<CLUSTER = 2>(a, b, d);
    assert_close(d, a @ b.T, ulp: 4);
    assert(spills() == 0);
    gemm<BM = 192, BN = 208, EPILOGUE = relu, CLUSTER = 2>(a, b, e);
    assert_close(e, max(a @ b.T, 0.0), ulp: 4);
    assert(spills() == 0);
}

test "gemm of other types in clusters of two" for (m, n, k) in [(130, 272, 160), (264, 80, 432)] {
    let a = uniform(i8, [m, k], low: -128, high: 128, seed: 3);
    let b = uniform(i8, [n, k], low: -128, high: 128, seed: 4);
    let c = empty(i32, [m, n]);
    gemm<CLUSTER = 2>(a, b, c);
    assert((c == a @ b.T).all());
    let (x, y) = (randn(bf16, [k, m], seed: 5), randn(bf16, [k, n], seed: 6));
    let (z, w) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm<BM = 64, BN = 128, STAGES = 6, CLUSTER = 2>(x.T, y.T, z);
    assert_close(z, x.T @ y, ulp: 4);
    gemm_pingpong<BM = 64, BN = 128, CLUSTER = 2>(x.T, y.T, w);
    assert_close(w, x.T @ y, ulp: 4);
}

test "gemm of any shape" for (m, n, k) in [
    (1, 1, 1),
    (16, 257, 511),
    (300, 521, 135),
    (200, 72, 262),
    (40, 4104, 520),
] {
    let a = randn(bf16, [m, k], seed: 3);
    let b = randn(bf16, [n, k], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    gemm<EPILOGUE = relu>(a, b, d);
    assert_close(d, max(a @ b.T, 0.0), ulp: 4);
}

test "gemm in tiles of any multiple of 16 columns" for (bn, n) in [
    (80, 300),
    (112, 224),
    (176, 520),
    (224, 225),
] {
    let a = randn(bf16, [300, 136], seed: 1);
    let b = randn(bf16, [n, 136], seed: 2);
    let (c, d) = (empty(bf16, [300, n]), empty(bf16, [300, n]));
    gemm<BN = bn>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(spills() == 0);
    gemm<BM = 192, BN = min(bn, 208)>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(spills() == 0);
    gemm_pingpong<BN = 80, SLOTS = 4>(a, b, d);
    assert_close(d, a @ b.T, ulp: 4);
    assert(spills() == 0);
}

test "gemm with swapped operands" for (m, n, k) in [
    (16, 200, 200),
    (5, 64, 72),
    (100, 136, 64),
    (9, 8400, 128),
] {
    let a = randn(bf16, [m, k], seed: 3);
    let b = randn(bf16, [n, k], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm_swapped<STAGES = 3>(a, b, c);
    assert(
        uses("tma.load")
            && uses("tma.store")
            && uses("wgmma") == supports("wgmma")
            && uses("stmatrix.x4.trans"),
    );
    assert(conflicts() == 0);
    assert_close(c, a @ b.T, ulp: 4);
    gemm_swapped<BM = 64, BN = 128>(a, b, d);
    assert_close(d, a @ b.T, ulp: 4);
    assert(spills() == 0);
}

test "gemm in more rounds than stages" for (m, n, k) in [(264, 136, 232), (1000, 72, 40), (5, 8, 16)] {
    let a = randn(bf16, [m, k], seed: 3);
    let b = randn(bf16, [n, k], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm<BN = 64, BK = 32, STAGES = 3, GROUP = 2>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    gemm_pingpong<BM = 64, BN = 64, BK = 32, STAGES = 2, GROUP = 2>(a, b, d);
    assert_close(d, a @ b.T, ulp: 4);
}

test "gemm with a function of each element" {
    let a = randn(bf16, [136, 72], seed: 10);
    let b = randn(bf16, [200, 72], seed: 11);
    let (c, d, e) = (empty(bf16, [136, 200]), empty(bf16, [136, 200]), empty(bf16, [136, 200]));
    let x = a @ b.T;
    gemm<BN = 64, BK = 32, STAGES = 3, EPILOGUE = relu>(a, b, c);
    assert_close(c, max(x, 0.0), ulp: 4);
    gemm_pingpong<BN = 128, EPILOGUE = gelu>(a, b, d);
    assert_close(d, x * 0.5 * (1.0 + erf(x * 0.7071067811865476)), ulp: 4);
    assert(spills() == 0);
    gemm_swapped<STAGES = 3, EPILOGUE = relu>(a, b, e);
    assert_close(e, max(x, 0.0), ulp: 4);
}

test "gemm moves tiles in boxes" {
    let a = randn(f16, [128, 64], seed: 5);
    let b = randn(f16, [192, 64], seed: 6);
    let c = empty(f16, [128, 192]);
    gemm_pingpong(a, b, c);
    assert(
        uses("tma.load") && uses("tma.store") && uses("wgmma") == supports("wgmma") && uses("stmatrix.x4"),
    );
    assert(conflicts() == 0);
}

/// Rows of 72 and 100 bytes are no multiples of 16, which boxes need.
test "gemm of tensors that no box takes" {
    let a = randn(f16, [33, 36], seed: 7);
    let b = randn(f16, [50, 36], seed: 8);
    let (c, d) = (empty(f16, [33, 50]), empty(f16, [33, 50]));
    gemm<BN = 64, BK = 32, STAGES = 3>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(uses("cp.async") && !uses("tma.load") && !uses("tma.store"));
    assert(spills() == 0);
    gemm_pingpong<BM = 64, BN = 64, BK = 32, STAGES = 2>(a, b, d);
    assert_close(d, a @ b.T, ulp: 4);
    assert(spills() == 0);
    let e = randn(f16, [56, 36], seed: 9);
    let f = empty(f16, [33, 56]);
    gemm_pingpong<BM = 64, BN = 64, BK = 32, STAGES = 2>(a, e, f);
    assert_close(f, a @ e.T, ulp: 4);
    assert(uses("cp.async") && uses("tma.store") && spills() == 0);
}

test "gemm of each element type" for (T, U, OUT, row) in [
    (bf16, bf16, f32, "wgmma.m64n64k16.f32.bf16"),
    (tf32, tf32, f32, "wgmma.m64n64k8.f32.tf32"),
    (f8e4m3, f8e4m3, bf16, "wgmma.m64n64k32.f32.f8e4m3"),
    (f8e5m2, f8e4m3, f16, "wgmma.m64n64k32.f32.f8e5m2.f8e4m3"),
    (i8, i8, i32, "wgmma.m64n64k32.i32.i8"),
    (u8, i8, bf16, "wgmma.m64n64k32.i32.u8.i8"),
] {
    let (m, n, k) = (200, 136, 144);
    // Integers over their whole range: `cast` saturates.
    let spread = if T == i8 || T == u8 { 60.0 } else { 1.0 };
    let a = cast(randn(f32, [m, k], seed: 12) * spread, T);
    let b = cast(randn(f32, [n, k], seed: 13) * spread, U);
    let c = empty(OUT, [m, n]);
    gemm<BN = 64, STAGES = 3>(a, b, c);
    assert(uses("tma.load") && uses("tma.store") && uses(row));
    assert(conflicts() == 0 && spills() == 0);
    if OUT == i32 {
        assert_eq(c, a @ b.T);
    } else {
        // Tensor cores add products of tf32 less exactly than the simulator: 22 ulp of f32 were seen on an H100.
        assert_close(c, a @ b.T, ulp: if T == tf32 { 64 } else { 8 });
    }
}

test "gemm_pingpong and gemm_swapped of other element types" for (T, OUT) in [
    (tf32, f32),
    (f8e4m3, bf16),
    (i8, i32),
] {
    let (m, n, k) = (136, 200, 208);
    let spread = if T == i8 { 60.0 } else { 1.0 };
    let a = cast(randn(f32, [m, k], seed: 14) * spread, T);
    let b = cast(randn(f32, [n, k], seed: 15) * spread, T);
    let (c, d) = (empty(OUT, [m, n]), empty(OUT, [m, n]));
    gemm_pingpong<BM = 64, BN = 96, STAGES = 3>(a, b, c);
    assert(uses("tma.load") && uses("tma.store") && uses("wgmma") == supports("wgmma"));
    assert(conflicts() == 0 && spills() == 0);
    gemm_swapped<STAGES = 3>(a, b, d);
    assert(uses("tma.load") && uses("tma.store") && uses("wgmma") == supports("wgmma"));
    assert(conflicts() == 0 && spills() == 0);
    if OUT == i32 {
        assert_eq(c, a @ b.T);
    } else {
        assert_close(c, a @ b.T, ulp: if T == tf32 { 64 } else { 8 });
    }
    if OUT == i32 {
        assert_eq(d, a @ b.T);
    } else {
        assert_close(d, a @ b.T, ulp: if T == tf32 { 64 } else { 8 });
    }
}

test "gemm of operands along rows and columns" for (T, at_a, at_b) in [
    (bf16, "a.mn.128B", "b.k.128B"),
    (f16, "a.k.128B", "b.mn.128B"),
    (bf16, "a.mn.128B", "b.mn.128B"),
] {
    let (m, n, k) = (200, 136, 150);
    let a = if at_a == "a.k.128B" {
        randn(T, [m, k + 2], seed: 16)[.., ..k]
    } else {
        randn(T, [k, m], seed: 16).T
    };
    let b = if at_b == "b.k.128B" {
        randn(T, [n, k + 2], seed: 17)[.., ..k]
    } else {
        randn(T, [k, n], seed: 17).T
    };
    let (c, d) = (empty(T, [m, n]), empty(T, [m, n]));
    gemm<BN = 64, STAGES = 3>(a, b, c);
    assert(
        uses("tma.load")
            && uses("tma.store")
            && uses("wgmma") == supports("wgmma")
            && uses(at_a)
            && uses(at_b),
    );
    assert(conflicts() == 0 && spills() == 0);
    assert_close(c, a @ b.T, ulp: 4);
    gemm_pingpong<BM = 64, BN = 96, STAGES = 3>(a, b, d);
    assert(uses("tma.load") && uses("tma.store") && uses("wgmma") == supports("wgmma") && uses(at_a));
    assert(conflicts() == 0 && spills() == 0);
    assert_close(d, a @ b.T, ulp: 4);
}

test "gemm_swapped of operands along their columns" {
    let a = randn(bf16, [72, 40], seed: 18).T;
    let b = randn(bf16, [72, 200], seed: 19).T;
    let c = empty(bf16, [40, 200]);
    gemm_swapped<STAGES = 3>(a, b, c);
    assert(uses("tma.load") && uses("tma.store") && uses("a.mn.128B") && uses("b.mn.32B"));
    assert(conflicts() == 0 && spills() == 0);
    assert_close(c, a @ b.T, ulp: 4);
}

/// The stride of a dimension with one element is free.
test "gemm of single rows and columns" for (m, n, k) in [(1, 72, 64), (72, 1, 64)] {
    let a = randn(f16, [m, k], seed: 22);
    let b = randn(f16, [n, k], seed: 23);
    let c = empty(f16, [m, n]);
    gemm<BN = 64, STAGES = 3>(a, b, c);
    assert(uses("tma.load") && uses("wgmma") == supports("wgmma"));
    assert_close(c, a @ b.T, ulp: 4);
    let x = randn(f16, [k, m], seed: 24).T;
    gemm<BN = 64, STAGES = 3>(x, b, c);
    assert_close(c, x @ b.T, ulp: 4);
}

/// A box would write behind the end of rows of 140 bytes.
test "gemm into part of a matrix" for n in [72, 70] {
    let a = randn(f16, [100, 72], seed: 20);
    let b = randn(f16, [n, 72], seed: 21);
    let whole = zeros(f16, [104, 96]);
    let c = whole[..100, 8..8 + n];
    gemm<BN = 64, STAGES = 3>(a, b, c);
    assert(uses("tma.store") == (n == 72));
    assert_close(c, a @ b.T, ulp: 4);
    assert(sum(abs(whole)) == sum(abs(c)));
}

bench "gemm 4096" for (T, OUT) in [(bf16, bf16), (tf32, f32), (f8e4m3, bf16), (i8, i32)] {
    let spread = if T == i8 { 60.0 } else { 1.0 };
    let a = cast(randn(f32, [4096, 4096], seed: 1) * spread, T);
    let b = cast(randn(f32, [4096, 4096], seed: 2) * spread, T);
    let c = empty(OUT, [4096, 4096]);
    measure flops 2 * 4096 * 4096 * 4096 { gemm(a, b, c) }
    measure flops 2 * 4096 * 4096 * 4096 { gemm_pingpong(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

bench "gemm 4096 of operands along rows and columns" for (turn_a, turn_b) in [
    (false, true),
    (true, false),
    (true, true),
] {
    let (x, y) = (randn(bf16, [4096, 4096], seed: 1), randn(bf16, [4096, 4096], seed: 2));
    let (a, b) = (if turn_a { x.T } else { x }, if turn_b { y.T } else { y });
    let c = empty(bf16, [4096, 4096]);
    measure flops 2 * 4096 * 4096 * 4096 { gemm(a, b, c) }
    measure flops 2 * 4096 * 4096 * 4096 { gemm_pingpong(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

bench "gemm_swapped of few rows" for m in [16, 64] {
    let a = randn(bf16, [m, 8192], seed: 1);
    let b = randn(bf16, [8192, 8192], seed: 2);
    let c = empty(bf16, [m, 8192]);
    measure flops 2 * m * 8192 * 8192 { gemm_swapped(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

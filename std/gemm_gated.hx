//! Pairs of matrix products of Hopper, where one gates the other: the two sums of an element meet in registers.

use std::activations::{identity, relu, silu_approx};
use std::gemm::{multiply, multiply_in_turn};
use std::tiles::grouped;

/// Copies the tiles of one pair of products into stages. The first half of the rows of a stage of `sb` comes from `g`, the rest from `u`.
fn feed_pair<T: type>(
    a: T[m, k],
    g: T[n, k],
    u: T[n, k],
    sa: shared mut T[M, K, S],
    sb: shared mut T[N, K, S],
    pipe: pipeline,
    bm: i64,
    bn: i64,
) {
    for ki in 0..cdiv(k, K) {
        let s = pipe.acquire();
        copy_async(tile(a, [M, K])[.., .., bm, ki], sa[.., .., s], signal: pipe);
        copy_async(tile(g, [N / 2, K])[.., .., bn, ki], sb[..N / 2, .., s], signal: pipe);
        copy_async(tile(u, [N / 2, K])[.., .., bn, ki], sb[N / 2.., .., s], signal: pipe);
    }
}

/// Copies the tiles of all pairs of the block into stages.
fn feed_pairs<T: type, GROUP>(
    a: T[m, k],
    g: T[n, k],
    u: T[n, k],
    sa: shared mut T[M, K, S],
    sb: shared mut T[N, K, S],
    pipe: pipeline,
) {
    let (rows, columns) = (cdiv(m, M), cdiv(n, N / 2));
    for w in 0..cdiv(rows * columns - block_idx, grid_dim) {
        let (bm, bn) = grouped<GROUP = GROUP>(block_idx + w * grid_dim, rows, columns);
        feed_pair(a, g, u, sa, sb, pipe, bm, bn);
    }
}

/// As `std::gemm::store`, of ACT(x) · y, where x and y are the halves of the columns of `acc`.
fn store_gated<OUT: type, ACT: fn>(
    acc: register f32[M, N],
    slots: shared mut OUT[M, W, SLOTS],
    c: mut OUT[m, n],
    bm: i64,
    bn: i64,
    stored: i64,
) {
    #[unroll]
    for j in 0..N / 2 / W {
        let slot = (stored + j) % SLOTS;
        let x = ACT(acc[.., j * W..(j + 1) * W]) * acc[.., N / 2 + j * W..N / 2 + (j + 1) * W];
        wait_stores(SLOTS - 1);
        sync();
        copy(cast(x, OUT), slots[.., .., slot]);
        sync();
        copy_async(slots[.., .., slot], tile(c, [M, W])[.., .., bm, bn * (N / 2 / W) + j]);
    }
}

/// c[m, n] = ACT(a[m, k] · g[n, k]ᵀ) * (a[m, k] · u[n, k]ᵀ), element by element: SwiGLU unless the launch states another `ACT`.
/// Its sigmoid has half the instructions of that of `std::activations::silu`: no product overlaps the store of a tile that two groups share.
/// A tile of both products is one product of 2 · BN columns, so an instruction has up to 256 columns and reads its rows of `a` once.
/// Two groups share each tile, as in `std::gemm::gemm`, and the ring has as many stages as fit. The operands are f16, bf16 or floats of 8 bits.
/// A launch that gives none of the parameters of its tiles runs the member of the family that is fastest for its shape by the cost model.
#[family(
    gemm_gated<BN = 128>,
    gemm_gated<BN = 112>,
    gemm_gated_pingpong<BN = 96>,
    gemm_gated_pingpong<BN = 80>,
    gemm_gated_pingpong<BN = 64>,
    gemm_gated_pingpong<BM = 64, BN = 128>,
    gemm_gated_swapped<BM = 8>,
    gemm_gated_swapped<BM = 16>,
    gemm_gated_swapped<BM = 32>,
    gemm_gated_swapped<BM = 64>,
    gemm_gated_any<BM = 128>,
    gemm_gated_any<BM = 64>,
)]
kernel gemm_gated<
    T: type = bf16,
    OUT: type = if T == f16 { T } else { bf16 },
    BM = 128,
    BN = 128,
    BK = if T == f16 || T == bf16 { 64 } else { 128 },
    GROUP = 8,
    W = (if BN % 64 == 0 { 64 } else if BN % 32 == 0 { 32 } else { 16 }) / (if OUT == f32 { 2 } else { 1 }),
    SLOTS = 2,
    STAGES = (231424 - (if OUT == f32 { 4 } else { 2 }) * BM * W * SLOTS)
        / ((if T == f16 || T == bf16 { 2 } else { 1 }) * (BM + 2 * BN) * BK),
    ACT: fn = silu_approx,
>(a: T[m, k] : [a0, a1], g: T[n, k] : [g0, g1], u: T[n, k] : [u0, u1], c: mut OUT[m, n] : [c0, 1])
    where BN % W == 0, T == f16 || T == bf16 || (a1 == 1 && g1 == 1 && u1 == 1)
    tune BM in [64, 128, 256], BN in 64..=128 step 16, BK in [64, 128], GROUP in [8, 16]
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - block_idx, grid_dim);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [2 * BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        // 24 registers, the default, are too few for threads that copy what no box takes.
        producer registers 56 {
            feed_pairs<GROUP = GROUP>(a, g, u, sa, sb, pipe);
        }
        consumer 2 {
            let acc = register_tensor(f32, [BM, 2 * BN]);
            let slots = shared_tensor(OUT, [BM, W, SLOTS]);
            for w in 0..rounds {
                let (bm, bn) = grouped<GROUP = GROUP>(block_idx + w * grid_dim, rows, columns);
                multiply(acc, sa, sb, pipe, steps);
                gemm_wait(0);
                pipe.release();
                store_gated<ACT = ACT>(acc, slots, c, bm, bn, w * (BN / W));
            }
        }
    }
}

/// As `gemm_gated`, but each group has tiles of its own: one multiplies while the other stores.
kernel gemm_gated_pingpong<
    T: type = bf16,
    OUT: type = if T == f16 { T } else { bf16 },
    BM = 128,
    BN = 64,
    BK = if T == f16 || T == bf16 { 64 } else { 128 },
    GROUP = 8,
    W = (if BN % 32 == 0 && BN <= 64 { 32 } else { 16 }) / (if OUT == f32 { 2 } else { 1 }),
    SLOTS = 2,
    STAGES = (231424 - 2 * (if OUT == f32 { 4 } else { 2 }) * BM * W * SLOTS)
        / ((if T == f16 || T == bf16 { 2 } else { 1 }) * (BM + 2 * BN) * BK),
    ACT: fn = silu_approx,
>(a: T[m, k] : [a0, a1], g: T[n, k] : [g0, g1], u: T[n, k] : [u0, u1], c: mut OUT[m, n] : [c0, 1])
    where BN % W == 0, T == f16 || T == bf16 || (a1 == 1 && g1 == 1 && u1 == 1)
    tune BM in [64, 128], BN in 32..=128 step 16, BK in [64, 128], GROUP in [8, 16]
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - block_idx, grid_dim);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [2 * BN, BK, STAGES]));
    let (pipe, multiplying) = (pipeline(STAGES, readers: 1), turns());
    warp_groups {
        producer registers 56 {
            feed_pairs<GROUP = GROUP>(a, g, u, sa, sb, pipe);
        }
        consumer each 2 (h) {
            let acc = register_tensor(f32, [BM, 2 * BN]);
            let slots = shared_tensor(OUT, [BM, W, SLOTS]);
            pipe.skip(h * steps);
            for i in 0..cdiv(rounds - h, 2) {
                let (bm, bn) = grouped<GROUP = GROUP>(block_idx + (2 * i + h) * grid_dim, rows, columns);
                multiply_in_turn(acc, sa, sb, pipe, multiplying, steps);
                store_gated<ACT = ACT>(acc, slots, c, bm, bn, i * (BN / W));
            }
        }
    }
}

/// As `gemm_gated`, for few rows of `a`: both products are computed as their transposes, as in `std::gemm::gemm_swapped`.
kernel gemm_gated_swapped<
    T: type = bf16,
    OUT: type = if T == f16 { T } else { bf16 },
    BM = 16,
    BN = 64,
    BK = if T == f16 || T == bf16 { 64 } else { 128 },
    STAGES = (if T == f16 || T == bf16 { 98304 } else { 196608 }) / ((BM + 2 * BN) * BK),
    ACT: fn = silu_approx,
>(a: T[m, k] : [a0, a1], g: T[n, k] : [g0, g1], u: T[n, k] : [u0, u1], c: mut OUT[m, n] : [c0, 1])
    where BN % 64 == 0, T == f16 || T == bf16 || (a1 == 1 && g1 == 1 && u1 == 1)
    tune BM in [8, 16, 32, 64, 128], BN in [64, 128], BK in [64, 128]
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - block_idx, grid_dim);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [2 * BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 56 {
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                feed_pair(a, g, u, sa, sb, pipe, t % rows, t / rows);
            }
        }
        consumer (BN / 64) {
            let acc = register_tensor(f32, [2 * BN, BM]);
            let slot = shared_tensor(OUT, [BM, BN]);
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                multiply(acc, sb, sa, pipe, steps);
                gemm_wait(0);
                pipe.release();
                wait_stores(0);
                sync();
                copy(cast(ACT(acc[..BN, ..]) * acc[BN.., ..], OUT), slot.T);
                sync();
                copy_async(slot, tile(c, [BM, BN])[.., .., t % rows, t / rows]);
            }
        }
    }
}

/// As `gemm_gated`, for any number of columns and any strides, as `std::gemm_any::gemm_any`.
kernel gemm_gated_any<
    T: type = bf16,
    OUT: type = if T == f16 { T } else { bf16 },
    BM = 64,
    BN = 64,
    BK = if T == f16 || T == bf16 { 64 } else { 128 },
    ACT: fn = silu_approx,
>(a: T[m, k] : [a0, a1], g: T[n, k] : [g0, g1], u: T[n, k] : [u0, u1], c: mut OUT[m, n] : [c0, 1])
    where BM % 64 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128 * (BM / 64)
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let (gg, gu) = (tile(g, [BN, BK])[.., .., bn, ..], tile(u, [BN, BK])[.., .., bn, ..]);
    let sa = shared_tensor(T, [BM, BK]);
    let (sg, su) = (shared_tensor(T, [BN, BK]), shared_tensor(T, [BN, BK]));
    let (x, y) = (register_tensor(f32, [BM, BN]), register_tensor(f32, [BM, BN]));
    fill(x, 0);
    fill(y, 0);
    let ra = register_tensor(T, [BM, BK]);
    let (rg, ru) = (register_tensor(T, [BN, BK]), register_tensor(T, [BN, BK]));
    copy(ga[.., .., 0], ra);
    copy(gg[.., .., 0], rg);
    copy(gu[.., .., 0], ru);
    for ki in 0..cdiv(k, BK) {
        sync();
        copy(ra, sa);
        copy(rg, sg);
        copy(ru, su);
        sync();
        copy(ga[.., .., ki + 1], ra);
        copy(gg[.., .., ki + 1], rg);
        copy(gu[.., .., ki + 1], ru);
        gemm(x, sa, sg);
        gemm(y, sa, su);
    }
    // Through shared memory each warp stores a row of results, at whatever strides `c` has.
    let sc = shared_tensor(OUT, [BM, BN]);
    copy(cast(ACT(x) * y, OUT), sc);
    sync();
    copy(load(sc), tile(c, [BM, BN])[.., .., bm, bn]);
}

test "gemm_gated" for (m, n, k) in [(128, 128, 64), (200, 328, 136)] {
    let a = randn(bf16, [m, k], seed: 1);
    let g = randn(bf16, [n, k], seed: 2);
    let u = randn(bf16, [n, k], seed: 3);
    let (c, d, e) = (empty(bf16, [m, n]), empty(bf16, [m, n]), empty(bf16, [m, n]));
    let (x, y) = (a @ g.T, a @ u.T);
    gemm_gated<BN = 128>(a, g, u, c);
    assert(uses("tma.load") && uses("tma.store") && uses("wgmma") == supports("wgmma"));
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    assert_close(c, x / (1.0 + exp(-x)) * y, ulp: 4);
    gemm_gated_pingpong<BN = 96, ACT = identity>(a, g, u, d);
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    assert_close(d, x * y, ulp: 4);
    gemm_gated_pingpong<BM = 64, BN = 128>(a, g, u, e);
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    assert_close(e, x / (1.0 + exp(-x)) * y, ulp: 4);
}

test "gemm_gated of few rows" for (m, n, k) in [(16, 200, 200), (5, 64, 72), (100, 136, 64), (9, 4200, 128)] {
    let a = randn(bf16, [m, k], seed: 3);
    let g = randn(bf16, [n, k], seed: 4);
    let u = randn(bf16, [n, k], seed: 5);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    let (x, y) = (a @ g.T, a @ u.T);
    gemm_gated_swapped<STAGES = 3>(a, g, u, c);
    assert(uses("tma.load") && uses("tma.store") && uses("stmatrix.x4.trans"));
    assert(redistributions() == 0 && conflicts() == 0 && spills() == 0);
    assert_close(c, x / (1.0 + exp(-x)) * y, ulp: 4);
    gemm_gated_swapped<BM = 64, BN = 128, ACT = relu>(a, g, u, d);
    assert(redistributions() == 0 && spills() == 0);
    assert_close(d, max(x, 0.0) * y, ulp: 4);
}

test "gemm_gated in more rounds than stages" for (m, n, k) in [
    (264, 136, 232),
    (1000, 72, 40),
    (33, 50, 36),
] {
    let a = randn(f16, [m, k], seed: 3);
    let g = randn(f16, [n, k], seed: 4);
    let u = randn(f16, [n, k], seed: 5);
    let (c, d) = (empty(f16, [m, n]), empty(f16, [m, n]));
    let (x, y) = (a @ g.T, a @ u.T);
    gemm_gated<BN = 64, BK = 32, STAGES = 3, GROUP = 2>(a, g, u, c);
    assert_close(c, x / (1.0 + exp(-x)) * y, ulp: 4);
    gemm_gated_pingpong<BM = 64, BN = 64, BK = 32, STAGES = 2, GROUP = 2>(a, g, u, d);
    assert_close(d, x / (1.0 + exp(-x)) * y, ulp: 4);
}

test "gemm_gated of any shape" for (m, n, k) in [(1, 1, 1), (70, 71, 135), (40, 4104, 520)] {
    let a = randn(bf16, [m, k], seed: 3);
    let g = randn(bf16, [n, k], seed: 4);
    let u = randn(bf16, [n, k], seed: 5);
    let c = empty(bf16, [m, n]);
    let (x, y) = (a @ g.T, a @ u.T);
    gemm_gated(a, g, u, c);
    assert_close(c, x / (1.0 + exp(-x)) * y, ulp: 4);
}

test "gemm_gated of floats of 8 bits" for T in [f8e4m3, f8e5m2] {
    let (m, n, k) = (136, 200, 208);
    let a = randn(T, [m, k], seed: 3);
    let g = randn(T, [n, k], seed: 4);
    let u = randn(T, [n, k], seed: 5);
    let c = empty(bf16, [m, n]);
    let (x, y) = (a @ g.T, a @ u.T);
    gemm_gated<BN = 64>(a, g, u, c);
    assert(uses("tma.load") && uses("wgmma") == supports("wgmma") && conflicts() == 0 && spills() == 0);
    assert_close(c, x / (1.0 + exp(-x)) * y, ulp: 8);
}

bench "gemm_gated" for (m, n, k) in [(4096, 4096, 4096), (16, 14336, 4096)] {
    let a = randn(bf16, [m, k], seed: 1);
    let g = randn(bf16, [n, k], seed: 2);
    let u = randn(bf16, [n, k], seed: 3);
    let c = empty(bf16, [m, n]);
    measure flops 4 * m * n * k { gemm_gated(a, g, u, c) }
}

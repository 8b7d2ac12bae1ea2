//! Matrix products of Hopper in clusters of two blocks, which share the tiles of one operand.

use std::activations::{identity, relu};
use std::gemm::{multiply, multiply_in_turn, store};
use std::tiles::grouped;

/// Copies the tiles of one product into stages. The blocks of a cluster have the same tile of `b`: each brings its share to all of them.
fn feed_pair<T: type, U: type>(
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
        copy_async(tile(b, [N, K])[.., .., bn, ki], sb[.., .., s], signal: pipe, multicast: 0);
    }
}

/// c[m, n] = EPILOGUE(a[m, k] · b[n, k]ᵀ), element by element, as `std::gemm::gemm` computes it. The two blocks of a cluster have tiles
/// of `c` one below the other, so they read a tile of `b` once. This is faster where the L2 cache bounds `gemm`: rows that begin within
/// its lines, or small tiles.
kernel gemm_pairs<
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
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    where BN % W == 0, T == f16 || T == bf16 || (a1 == 1 && b1 == 1)
    tune BM in [64, 128, 192], BN in 64..=256 step 16, BK in [64, 128], STAGES in 2..=7, GROUP in [8, 16]
    grid [2 * min(multiprocessors / 2, cdiv(m, 2 * BM) * cdiv(n, BN))]
    cluster [2]
{
    let (rank, cluster, clusters) = (block_idx % 2, block_idx / 2, grid_dim / 2);
    let (rows, columns, steps) = (cdiv(m, 2 * BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - cluster, clusters);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer registers 40 {
            for w in 0..rounds {
                let (pair, bn) = grouped<GROUP = GROUP>(cluster + w * clusters, rows, columns);
                feed_pair(a, b, sa, sb, pipe, 2 * pair + rank, bn);
            }
        }
        consumer (BM / 64) {
            let acc = register_tensor(ACC, [BM, BN]);
            let slots = shared_tensor(OUT, [BM, W, SLOTS]);
            for w in 0..rounds {
                let (pair, bn) = grouped<GROUP = GROUP>(cluster + w * clusters, rows, columns);
                multiply(acc, sa, sb, pipe, steps);
                gemm_wait(0);
                pipe.release();
                store<EPILOGUE = EPILOGUE>(acc, slots, c, 2 * pair + rank, bn, w * (BN / W));
            }
        }
    }
}

/// As `gemm_pairs`, but each group has tiles of its own: one multiplies while the other stores.
kernel gemm_pairs_pingpong<
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
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    where BN % W == 0, T == f16 || T == bf16 || (a1 == 1 && b1 == 1)
    tune BM in [64, 128], BN in 64..=256 step 16, BK in [64, 128], STAGES in 2..=7, GROUP in [8, 16]
    grid [2 * min(multiprocessors / 2, cdiv(m, 2 * BM) * cdiv(n, BN))]
    cluster [2]
{
    let (rank, cluster, clusters) = (block_idx % 2, block_idx / 2, grid_dim / 2);
    let (rows, columns, steps) = (cdiv(m, 2 * BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - cluster, clusters);
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
    let (pipe, multiplying) = (pipeline(STAGES, readers: 1), turns());
    warp_groups {
        producer registers (if BN > 128 { 24 } else { 48 }) {
            for w in 0..rounds {
                let (pair, bn) = grouped<GROUP = GROUP>(cluster + w * clusters, rows, columns);
                feed_pair(a, b, sa, sb, pipe, 2 * pair + rank, bn);
            }
        }
        consumer each 2 (g) {
            let acc = register_tensor(ACC, [BM, BN]);
            let slots = shared_tensor(OUT, [BM, W, SLOTS]);
            pipe.skip(g * steps);
            for i in 0..cdiv(rounds - g, 2) {
                let (pair, bn) = grouped<GROUP = GROUP>(cluster + (2 * i + g) * clusters, rows, columns);
                multiply_in_turn(acc, sa, sb, pipe, multiplying, steps);
                store<EPILOGUE = EPILOGUE>(acc, slots, c, 2 * pair + rank, bn, i * (BN / W));
            }
        }
    }
}

test "gemm in pairs" for (m, n, k) in [(1, 16, 8), (300, 264, 136), (520, 296, 72)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let (c, d, e) = (empty(f16, [m, n]), empty(f16, [m, n]), empty(f16, [m, n]));
    gemm_pairs(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(spills() == 0);
    gemm_pairs_pingpong(a, b, d);
    assert_close(d, a @ b.T, ulp: 4);
    assert(spills() == 0);
    gemm_pairs<BM = 192, BN = 208, EPILOGUE = relu>(a, b, e);
    assert_close(e, max(a @ b.T, 0.0), ulp: 4);
    assert(spills() == 0);
}

test "gemm in pairs of other types" for (m, n, k) in [(130, 272, 160), (264, 80, 432)] {
    let a = uniform(i8, [m, k], low: -128, high: 128, seed: 3);
    let b = uniform(i8, [n, k], low: -128, high: 128, seed: 4);
    let c = empty(i32, [m, n]);
    gemm_pairs(a, b, c);
    assert((c == a @ b.T).all());
    let (x, y) = (randn(bf16, [k, m], seed: 5), randn(bf16, [k, n], seed: 6));
    let (z, w) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm_pairs<BM = 64, BN = 128, STAGES = 6>(x.T, y.T, z);
    assert_close(z, x.T @ y, ulp: 4);
    gemm_pairs_pingpong<BM = 64, BN = 128>(x.T, y.T, w);
    assert_close(w, x.T @ y, ulp: 4);
}

//! How good the compiler's choices are, for each shape: the kernel as the compiler solves it beside all other candidates of its
//! own (`hx bench --candidates`), and beside the same kernel with every arrangement of warps and every plain way to lay out the
//! stages in shared memory. `quality.py` makes the tables.

use std::matmul_pipelined::matmul_pipelined;

/// `matmul_pipelined` with its choices made by hand: warps along M and N, bits of the swizzle, elements between rows. What is
/// left open, the instruction and the deals of the copies, the compiler chooses for each anew.
kernel by_hand<BM = 128, BN = 128, BK = 32, STAGES = 4, THREADS = 128, WM = 2, WN = 2, BITS = 0, GAP = 0>(
    a: f16[m, k],
    b: f16[n, k],
    c: mut f16[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads THREADS
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, [BN, BK])[.., .., bn, ..];
    let la = swizzle<BITS, 3, 3> ∘ (BM, BK, STAGES) : (BK + GAP, 1, BM * (BK + GAP));
    let lb = swizzle<BITS, 3, 3> ∘ (BN, BK, STAGES) : (BK + GAP, 1, BN * (BK + GAP));
    let sa = shared_tensor(f16, [BM, BK, STAGES], layout: la);
    let sb = shared_tensor(f16, [BN, BK, STAGES], layout: lb);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for s in 0..STAGES - 1 {
        copy_async(ga[.., .., s], sa[.., .., s]);
        copy_async(gb[.., .., s], sb[.., .., s]);
        commit();
    }
    // As in `matmul_pipelined`.
    let ahead = BK > 32 || BM * BN > 128 * 128;
    for ki in 0..cdiv(k, BK) {
        wait(STAGES - 2);
        sync();
        if !ahead {
            gemm(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES], warps: [WM, WN]);
        }
        let next = ki + STAGES - 1;
        copy_async(ga[.., .., next], sa[.., .., next % STAGES]);
        copy_async(gb[.., .., next], sb[.., .., next % STAGES]);
        commit();
        if ahead {
            gemm(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES], warps: [WM, WN]);
        }
    }
    wait(0);
    let sc = shared_tensor(f16, [BM, BN]);
    copy(cast(acc, f16), sc);
    sync();
    copy(sc, tile(c, [BM, BN])[.., .., bm, bn]);
}

/// m, n, k, BM, BN, BK, stages, threads.
const SHAPES = [
    (4096, 4096, 4096, 128, 128, 32, 4, 128),
    (4096, 4096, 4096, 128, 128, 32, 4, 256),
    (4096, 4096, 4096, 128, 128, 64, 3, 256),
    (8192, 8192, 1024, 128, 128, 32, 4, 128),
    (8192, 1024, 8192, 128, 128, 32, 4, 128),
    (1024, 8192, 8192, 128, 128, 32, 4, 256),
    (2048, 2048, 2048, 128, 128, 32, 3, 128),
    (2048, 2048, 2048, 128, 64, 32, 4, 128),
    (2048, 2048, 2048, 64, 128, 32, 4, 128),
    (2048, 2048, 2048, 64, 64, 64, 4, 128),
    (1024, 1024, 4096, 64, 64, 32, 4, 128),
    (1024, 1024, 16384, 64, 64, 64, 3, 128),
    (4096, 4096, 512, 128, 256, 32, 3, 256),
    (4096, 4096, 512, 256, 128, 32, 3, 256),
    (3840, 5120, 4096, 96, 128, 32, 4, 128),
    (4096, 3840, 4096, 128, 96, 32, 4, 128),
];

bench "own" for (m, n, k, bm, bn, bk, stages, threads) in SHAPES {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f16, [m, n]);
    measure flops 2 * m * n * k {
        matmul_pipelined<BM = bm, BN = bn, BK = bk, STAGES = stages, THREADS = threads>(a, b, c)
    }
}

bench "by hand" for (m, n, k, bm, bn, bk, stages, threads) in SHAPES {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f16, [m, n]);
    measure flops 2 * m * n * k {
        matmul_pipelined<BM = bm, BN = bn, BK = bk, STAGES = stages, THREADS = threads>(a, b, c)
    }
    let warps = threads / 32;
    for wm in [1, 2, 4, 8] {
        // Each warp has whole tiles of 16 × 8.
        if warps / wm * wm == warps
            && bm / wm / 16 * 16 * wm == bm
            && bn / (warps / wm) / 8 * 8 * (warps / wm) == bn {
            for (bits, gap) in [(0, 0), (1, 0), (2, 0), (3, 0), (0, 8), (0, 16)] {
                measure flops 2 * m * n * k {
                    by_hand<
                        BM = bm,
                        BN = bn,
                        BK = bk,
                        STAGES = stages,
                        THREADS = threads,
                        WM = wm,
                        WN = warps / wm,
                        BITS = bits,
                        GAP = gap,
                    >(a, b, c)
                }
            }
        }
    }
}

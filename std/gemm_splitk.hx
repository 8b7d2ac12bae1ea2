//! Matrix product of few rows and columns over a long K, which several blocks share.

/// c[m, n] += a[m, k] · b[n, k]ᵀ: each of `SPLITS` blocks takes its part of K and adds its sums to c. c is zeros for the product alone.
/// A launch that gives none of the parameters of its tiles runs the member of the family that is fastest for its shape by the cost model.
#[family(
    gemm_splitk<BM = 64, BN = 64, BK = 32, STAGES = 4, SPLITS = 8>,
    gemm_splitk<BM = 64, BN = 64, BK = 64, STAGES = 4, SPLITS = 4>,
    gemm_splitk<BM = 64, BN = 64, BK = 64, STAGES = 4, SPLITS = 16>,
    gemm_splitk<BM = 64, BN = 32, BK = 64, STAGES = 5, SPLITS = 8>,
    gemm_splitk<BM = 64, BN = 32, BK = 64, STAGES = 5, SPLITS = 32>,
    gemm_splitk<BM = 64, BN = 128, BK = 64, STAGES = 4, SPLITS = 8>,
    gemm_splitk<BM = 64, BN = 128, BK = 64, STAGES = 4, SPLITS = 16>,
    gemm_splitk<BM = 128, BN = 128, BK = 64, STAGES = 3, SPLITS = 4>,
)]
kernel gemm_splitk<BM = 64, BN = 64, BK = 32, STAGES = 4, SPLITS = 8, THREADS = 128, T: type = f16>(
    a: T[m, k],
    b: T[n, k],
    c: mut f32[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN), SPLITS]
    threads THREADS
{
    let [bm, bn, split] = block_idx;
    let steps = cdiv(cdiv(k, BK), SPLITS);
    let first = split * steps;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, [BN, BK])[.., .., bn, ..];
    let sa = shared_tensor(T, [BM, BK, STAGES]);
    let sb = shared_tensor(T, [BN, BK, STAGES]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for s in 0..STAGES - 1 {
        if s < steps {
            copy_async(ga[.., .., first + s], sa[.., .., s]);
            copy_async(gb[.., .., first + s], sb[.., .., s]);
        }
        commit();
    }
    for ki in 0..steps {
        wait(STAGES - 2);
        sync();
        let next = ki + STAGES - 1;
        if next < steps {
            copy_async(ga[.., .., first + next], sa[.., .., next % STAGES]);
            copy_async(gb[.., .., first + next], sb[.., .., next % STAGES]);
        }
        commit();
        gemm(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES]);
    }
    wait(0);
    atomic_add(tile(c, [BM, BN])[.., .., bm, bn], acc);
}

test "gemm_splitk" for (m, n, k) in [(64, 64, 1024), (50, 72, 1000), (16, 136, 328)] {
    for T in [f16, bf16] {
        let a = randn(T, [m, k], seed: 1);
        let b = randn(T, [n, k], seed: 2);
        let c = zeros(f32, [m, n]);
        gemm_splitk(a, b, c);
        assert_close(c, a @ b.T, rtol: 1e-4, atol: 1e-3);
        gemm_splitk<SPLITS = 3, STAGES = 3>(a, b, c);
        assert_close(c, 2.0 * (a @ b.T), rtol: 1e-4, atol: 1e-3);
    }
}

test "gemm_splitk moves 16 bytes at a time, free of bank conflicts" {
    let a = randn(f16, [64, 1024], seed: 1);
    let c = zeros(f32, [64, 64]);
    gemm_splitk<SPLITS = 8>(a, a, c);
    let wide = supports("wgmma");
    assert(uses("cp.async.cg.16") && uses("wgmma") == wide);
    assert(uses("ldmatrix.x4") != wide && uses("mma.m16n8k16") != wide);
    assert(bytes_per_access("a") == 16 && bytes_per_access("b") == 16);
    assert(conflicts() == 0);
    assert(spills() == 0);
}

bench "gemm_splitk 256 × 256 × 16384" {
    let a = randn(f16, [256, 16384]);
    let b = randn(f16, [256, 16384]);
    let c = zeros(f32, [256, 256]);
    let d = empty(f16, [256, 256]);
    measure flops 2 * 256 * 256 * 16384 { gemm_splitk(a, b, c) }
    measure flops 2 * 256 * 256 * 16384 { gemm_splitk<SPLITS = 16>(a, b, c) }
    baseline cublas::gemm(a, b.T, d)
}

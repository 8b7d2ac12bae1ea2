//! Matrix product with a bias and an activation, computed before the result leaves the registers.

use std::activations::{gelu, identity, relu, silu};

/// c[m, n] = ACT(a[m, k] · b[n, k]ᵀ + bias[n]).
/// A launch that gives none of the parameters of its tiles runs the member of the family that is fastest for its shape by the cost model.
#[family(
    gemm_bias_act<BM = 128, BN = 128, BK = 32, STAGES = 4, THREADS = 128>,
    gemm_bias_act<BM = 128, BN = 64, BK = 64, STAGES = 3, THREADS = 128>,
    gemm_bias_act<BM = 64, BN = 64, BK = 64, STAGES = 5, THREADS = 128>,
    gemm_bias_act<BM = 64, BN = 32, BK = 64, STAGES = 6, THREADS = 128>,
)]
kernel gemm_bias_act<BM = 128, BN = 128, BK = 32, STAGES = 4, THREADS = 128, T: type = f16, ACT: fn = relu>(
    a: T[m, k],
    b: T[n, k],
    bias: T[n],
    c: mut T[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads THREADS
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, [BN, BK])[.., .., bn, ..];
    let sa = shared_tensor(T, [BM, BK, STAGES]);
    let sb = shared_tensor(T, [BN, BK, STAGES]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for s in 0..STAGES - 1 {
        copy_async(ga[.., .., s], sa[.., .., s]);
        copy_async(gb[.., .., s], sb[.., .., s]);
        commit();
    }
    // The copies stand behind the products, or ahead of them, for the reasons of `matmul_pipelined`.
    let ahead = BK > 32 || BM * BN > 128 * 128;
    for ki in 0..cdiv(k, BK) {
        wait(STAGES - 2);
        sync();
        if !ahead {
            gemm(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES]);
        }
        let next = ki + STAGES - 1;
        copy_async(ga[.., .., next], sa[.., .., next % STAGES]);
        copy_async(gb[.., .., next], sb[.., .., next % STAGES]);
        commit();
        if ahead {
            gemm(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES]);
        }
    }
    wait(0);
    acc = acc + cast(load(tile(bias, [BN])[.., bn][new, ..]), f32);
    acc = ACT(acc);
    let sc = shared_tensor(T, [BM, BN]);
    copy(cast(acc, T), sc);
    sync();
    copy(sc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "gemm_bias_act" for (m, n, k) in [(128, 128, 64), (200, 136, 72), (33, 50, 40)] {
    for T in [f16, bf16] {
        let a = randn(T, [m, k], seed: 1);
        let b = randn(T, [n, k], seed: 2);
        let bias = randn(T, [n], seed: 3);
        let c = empty(T, [m, n]);
        let x = a @ b.T + bias;
        gemm_bias_act<ACT = identity>(a, b, bias, c);
        assert_close(c, x, ulp: 4);
        gemm_bias_act<ACT = relu>(a, b, bias, c);
        assert_close(c, max(x, 0.0), ulp: 4);
        gemm_bias_act<BM = 64, BN = 96, STAGES = 3, ACT = gelu>(a, b, bias, c);
        assert_close(c, x * 0.5 * (1.0 + erf(x * 0.7071067811865476)), ulp: 4);
        gemm_bias_act<BM = 64, BN = 64, ACT = silu>(a, b, bias, c);
        assert_close(c, x / (1.0 + exp(-x)), ulp: 4);
    }
    let a = randn(f32, [m, k], seed: 1);
    let b = randn(f32, [n, k], seed: 2);
    let bias = randn(f32, [n], seed: 3);
    let c = empty(f32, [m, n]);
    gemm_bias_act<BM = 64, BN = 64, BK = 16, STAGES = 3>(a, b, bias, c);
    assert_close(c, max(a @ b.T + bias, 0.0), rtol: 1e-5, atol: 1e-4);
}

test "gemm_bias_act moves 16 bytes at a time, free of bank conflicts" {
    let a = randn(f16, [128, 128], seed: 1);
    let bias = randn(f16, [128], seed: 2);
    let c = empty(f16, [128, 128]);
    gemm_bias_act<BM = 128, ACT = silu>(a, a, bias, c);
    let wide = supports("wgmma");
    assert(uses("cp.async.cg.16") && uses("wgmma") == wide && uses("stmatrix.x4") == supports("stmatrix.x4"));
    assert(uses("ldmatrix.x4") != wide && uses("mma.m16n8k16") != wide);
    assert(bytes_per_access("a") == 16 && bytes_per_access("b") == 16 && bytes_per_access("c") == 16);
    assert(conflicts() == 0);
    assert(spills() == 0);
}

bench "gemm_bias_act 4096" {
    let a = randn(f16, [4096, 4096]);
    // Sums of the size that activations have: of larger ones, half of the functions' results are no normal numbers.
    let b = uniform(f16, [4096, 4096], low: -0.03, high: 0.03);
    let bias = randn(f16, [4096]);
    let c = empty(f16, [4096, 4096]);
    measure flops 2 * 4096 * 4096 * 4096 { gemm_bias_act<ACT = gelu>(a, b, bias, c) }
    measure flops 2 * 4096 * 4096 * 4096 { gemm_bias_act<ACT = silu>(a, b, bias, c) }
    baseline cublas::gemm(a, b.T, c)
}

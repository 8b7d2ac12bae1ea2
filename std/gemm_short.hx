//! Matrix products of Hopper with few steps along K: blocks without roles, which begin sooner.

use std::activations::{identity, relu};
use std::gemm::finish;

/// Multiplies one tile: each step along K is copied and multiplied before the next one.
fn multiply_tile<T: type, U: type, ACC: type>(
    acc: register mut ACC[M, N],
    a: T[m, k],
    b: U[n, k],
    sa: shared mut T[M, K, S],
    sb: shared mut U[N, K, S],
    pipe: pipeline,
    bm: i64,
    bn: i64,
) {
    fill(acc, 0);
    for ki in 0..cdiv(k, K) {
        let s = pipe.acquire();
        copy_async(tile(a, [M, K])[.., .., bm, ki], sa[.., .., s], signal: pipe);
        copy_async(tile(b, [N, K])[.., .., bn, ki], sb[.., .., s], signal: pipe);
        let t = pipe.wait();
        gemm_async(acc, sa[.., .., t], sb[.., .., t]);
        gemm_wait(0);
        pipe.release();
    }
}

/// c[m, n] = EPILOGUE(a[m, k] · b[n, k]ᵀ), as `std::gemm::gemm` computes it. All threads of a block copy, multiply and store one tile, one step
/// along K after the other. A launch takes about a microsecond less than one of `gemm`, and several blocks share a multiprocessor.
kernel gemm_short<
    T: type = bf16,
    U: type = T,
    ACC: type = if T == i8 || T == u8 { i32 } else { f32 },
    OUT: type = if T == f16 || T == bf16 { T } else if ACC == i32 || T == tf32 { ACC } else { bf16 },
    BM = 128,
    BN = 64,
    BK = if T == f16 || T == bf16 { 64 } else if T == tf32 { 32 } else { 128 },
    STAGES = 1,
    EPILOGUE: fn = identity,
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    where BM % 64 == 0, T == f16 || T == bf16 || (a1 == 1 && b1 == 1)
    tune BM in [64, 128], BN in [32, 64, 128, 256], STAGES in [1, 2]
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128 * (BM / 64)
{
    let [bm, bn] = block_idx;
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(U, [BN, BK, STAGES]));
    let acc = register_tensor(ACC, [BM, BN]);
    let pipe = pipeline(STAGES);
    multiply_tile(acc, a, b, sa, sb, pipe, bm, bn);
    let sc = shared_tensor(OUT, [BM, BN]);
    finish<EPILOGUE = EPILOGUE>(acc, sc);
    sync();
    copy_async(sc, tile(c, [BM, BN])[.., .., bm, bn]);
}

/// c[m, n] = ACT(a[m, k] · b[n, k]ᵀ + bias[n]), as `std::gemm_fused::gemm_bias`, for few steps along K.
kernel gemm_bias_short<T: type = bf16, BM = 64, BN = 128, BK = 64, STAGES = 1, ACT: fn = identity>(
    a: T[m, k] : [a0, a1],
    b: T[n, k] : [b0, b1],
    bias: T[n],
    c: mut T[m, n] : [c0, 1],
)
    where BM % 64 == 0
    tune BM in [64, 128], BN in [32, 64, 128, 256], STAGES in [1, 2]
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128 * (BM / 64)
{
    let [bm, bn] = block_idx;
    let (sa, sb) = (shared_tensor(T, [BM, BK, STAGES]), shared_tensor(T, [BN, BK, STAGES]));
    let acc = register_tensor(f32, [BM, BN]);
    let pipe = pipeline(STAGES);
    multiply_tile(acc, a, b, sa, sb, pipe, bm, bn);
    let column = cast(load(tile(bias, [BN])[.., bn][new, ..]), f32);
    let sc = shared_tensor(T, [BM, BN]);
    copy(cast(ACT(acc + column), T), sc);
    sync();
    copy_async(sc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "a product of few steps" for (m, n, k) in [(1, 8, 8), (130, 264, 24), (200, 72, 136)] {
    let a = randn(bf16, [m, k], seed: 3);
    let b = randn(bf16, [n, k], seed: 4);
    let (c, d) = (empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm_short(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    gemm_short<BM = 64, BN = 128, EPILOGUE = relu>(a, b, d);
    assert_close(d, max(a @ b.T, 0.0), ulp: 4);
    assert(spills() == 0);
    let bias = randn(bf16, [n], seed: 5);
    gemm_bias_short<ACT = relu>(a, b, bias, d);
    assert_close(d, max(a @ b.T + bias, 0.0), ulp: 4);
    assert(spills() == 0);
}

bench "a product of one step" {
    let a = randn(bf16, [8192, 32]);
    let b = randn(bf16, [1024, 32]);
    let c = empty(bf16, [8192, 1024]);
    measure flops 2 * 8192 * 1024 * 32 { gemm_short<BM = 64, BN = 128>(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

//! Products of few rows: the operands of an instruction change places, so that its 16 rows are columns of the product.

use std::matmul_pipelined::matmul_pipelined;

/// c[m, n] = a[m, k] · b[n, k]ᵀ with operands that lie in registers.
kernel few<BM = 8, BN = 64, BK = 32, T: type = f16, U: type = f32>(a: T[m, k], b: T[n, k], c: mut U[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(U, [BM, BN]);
    fill(acc, 0);
    for ki in 0..cdiv(k, BK) {
        let ra = load(tile(a, [BM, BK])[.., .., bm, ki]);
        let rb = load(tile(b, [BN, BK])[.., .., bn, ki]);
        gemm(acc, ra, rb);
    }
    copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "few rows in registers" for (m, n, k) in [(8, 64, 64), (3, 130, 40), (20, 72, 97)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f32, [m, n]);
    few(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-5, atol: 1e-4);
    few<BM = 24>(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-5, atol: 1e-4);
    let i = uniform(i8, [m, k], low: -128, high: 128, seed: 3);
    let j = uniform(i8, [n, k], low: -128, high: 128, seed: 4);
    let d = empty(i32, [m, n]);
    few(i, j, d);
    assert_eq(d, i @ j.T);
}

test "few rows in shared memory" for (m, n, k) in [(8, 64, 128), (5, 130, 200), (1, 72, 64)] {
    let a = randn(bf16, [m, k], seed: 1);
    let b = randn(bf16, [n, k], seed: 2);
    let c = empty(bf16, [m, n]);
    matmul_pipelined<BM = 8, BN = 64, BK = 64>(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
}

bench "eight rows, 8192 × 8192" {
    let a = randn(f16, [8, 8192]);
    let b = randn(f16, [8192, 8192]);
    let c = empty(f16, [8, 8192]);
    measure bytes 2 * 8192 * 8192 { matmul_pipelined<BM = 8, BN = 64, BK = 128, STAGES = 5>(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

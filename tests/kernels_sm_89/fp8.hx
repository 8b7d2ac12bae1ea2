//! Floats of 8 bits, for architectures from `sm_89` on.

/// c[m, n] = a[m, k] · b[n, k]ᵀ.
kernel product<BM = 32, BN = 32, BK = 64, A: type = f8e4m3, B: type = f8e4m3>(
    a: A[m, k],
    b: B[n, k],
    c: mut f32[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(A, [BM, BK]);
    let sb = shared_tensor(B, [BN, BK]);
    let rc = register_tensor(f32, [BM, BN]);
    fill(rc, 0.0);
    for ki in 0..cdiv(k, BK) {
        copy(tile(a, [BM, BK])[.., .., bm, ki], sa);
        copy(tile(b, [BN, BK])[.., .., bn, ki], sb);
        sync();
        gemm(rc, sa, sb);
        sync();
    }
    copy(rc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "products" for (m, n, k) in [(32, 32, 64), (100, 72, 80), (33, 17, 50)] {
    let a = randn(f8e4m3, [m, k], seed: 1);
    let b = randn(f8e4m3, [n, k], seed: 2);
    let p = randn(f8e5m2, [m, k], seed: 3);
    let q = randn(f8e5m2, [n, k], seed: 4);
    let c = empty(f32, [m, n]);
    product(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-5, atol: 1e-5);
    product(p, q, c);
    assert_close(c, p @ q.T, rtol: 1e-5, atol: 1e-5);
    product(a, q, c);
    assert_close(c, a @ q.T, rtol: 1e-5, atol: 1e-5);
    product(p, b, c);
    assert_close(c, p @ b.T, rtol: 1e-5, atol: 1e-5);
    // No matrix instruction takes 16 steps.
    product<BK = 16>(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-5, atol: 1e-5);
    product<BK = 16>(p, q, c);
    assert_close(c, p @ q.T, rtol: 1e-5, atol: 1e-5);
    product<BK = 16>(a, q, c);
    assert_close(c, a @ q.T, rtol: 1e-5, atol: 1e-5);
    product<BK = 16>(p, b, c);
    assert_close(c, p @ b.T, rtol: 1e-5, atol: 1e-5);
}

/// c[m, n] = a[k, m]ᵀ · b[k, n]: both tiles are contiguous across K.
kernel across<BM = 64, BN = 64, BK = 64, A: type = f8e4m3, B: type = f8e4m3>(
    a: A[k, m],
    b: B[k, n],
    c: mut f32[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(A, [BK, BM]);
    let sb = shared_tensor(B, [BK, BN]);
    let rc = register_tensor(f32, [BM, BN]);
    fill(rc, 0.0);
    for ki in 0..cdiv(k, BK) {
        copy(tile(a, [BK, BM])[.., .., ki, bm], sa);
        copy(tile(b, [BK, BN])[.., .., ki, bn], sb);
        sync();
        gemm(rc, sa.T, sb.T);
        sync();
    }
    copy(rc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "products across" for (m, n, k) in [(64, 64, 64), (112, 80, 80), (33, 17, 50)] {
    let a = randn(f8e4m3, [k, m], seed: 1);
    let b = randn(f8e5m2, [k, n], seed: 2);
    let c = empty(f32, [m, n]);
    across(a, b, c);
    assert_close(c, a.T @ b, rtol: 1e-5, atol: 1e-5);
    if n % 16 == 0 {
        assert(uses("ldmatrix.x4.trans.b8"), "transposed");
        assert_eq([bytes_per_access("sa"), bytes_per_access("sb")], [16, 16]);
    }
}

//! Kernels for a target that does not exist.

/// c[m, n] = a[m, k] · b[n, k]ᵀ through shared memory.
kernel product<BM = 16, BN = 32, BK = 8>(a: f32[m, k], b: f32[n, k], c: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    let sa = shared_tensor(f32, [BM, BK]);
    let sb = shared_tensor(f32, [BN, BK]);
    for ki in 0..cdiv(k, BK) {
        copy(load(tile(a, [BM, BK])[.., .., bm, ki]), sa);
        copy(load(tile(b, [BN, BK])[.., .., bn, ki]), sb);
        sync();
        gemm(acc, load(sa), load(sb));
        sync();
    }
    copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
}

/// y[m] is the sum of each row of x[m, n].
kernel row_sums<BM = 4, BN = 64>(x: f32[m, n], y: mut f32[m])
    where n <= BN
    grid [cdiv(m, BM)]
    threads 64
{
    let s = shared_tensor(f32, [BM, BN]);
    copy(load(tile(x, [BM, BN])[.., .., block_idx, 0]), s);
    sync();
    copy(sum(load(s), axis: 1)[.., 0], tile(y, [BM])[.., block_idx]);
}

test "products" for (m, n, k) in [(16, 32, 8), (33, 70, 19)] {
    let a = randn(f32, [m, k], seed: 1);
    let b = randn(f32, [n, k], seed: 2);
    let c = empty(f32, [m, n]);
    product(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-5, atol: 1e-4);
    assert(uses("mad.m8n8k2.f32"));
}

test "sums of rows" for (m, n) in [(4, 64), (7, 41)] {
    let x = randn(f32, [m, n], seed: 3);
    let y = empty(f32, [m]);
    row_sums(x, y);
    assert_close(y, sum(x, axis: 1), rtol: 1e-5, atol: 1e-4);
}

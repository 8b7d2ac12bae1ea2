//! Products of warp groups whose sums are held in f16.

kernel half_sums<BM = 128, BN = 128, BK = 64>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(f16, [BM, BK]);
    let sb = shared_tensor(f16, [BN, BK]);
    let rc = register_tensor(f16, [BM, BN]);
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

test "sums in f16" for (m, n, k) in [(128, 128, 64), (200, 72, 104)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f16, [m, n]);
    half_sums(a, b, c);
    assert(uses("wgmma"));
    assert_close(c, a @ b.T, ulp: 6);
}

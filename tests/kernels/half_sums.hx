//! Products whose sums are held in f16, two in a register: half the registers of sums in f32, and rounded at each instruction.

kernel half_sums<BM = 64, BN = 64, BK = 32, C: type = f16>(a: f16[m, k], b: f16[n, k], c: mut C[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let rc = register_tensor(C, [BM, BN]);
    fill(rc, 0.0);
    for ki in 0..cdiv(k, BK) {
        gemm(rc, load(tile(a, [BM, BK])[.., .., bm, ki]), load(tile(b, [BN, BK])[.., .., bn, ki]));
    }
    copy(rc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "sums in f16" for (m, n, k) in [(64, 64, 64), (100, 72, 48), (33, 17, 40)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f16, [m, n]);
    half_sums(a, b, c);
    // A sum of f16 is rounded for every 16 steps along K, to half a unit in the last place of what is summed so far.
    assert_close(c, a @ b.T, ulp: 4);
    half_sums<BK = 8>(a, b, c);
    assert_close(c, a @ b.T, ulp: 6);
}

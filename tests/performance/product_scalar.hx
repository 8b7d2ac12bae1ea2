/// No matrix instruction takes 12 steps of K.
kernel product<BM = 64, BN = 64, BK = 12>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for p in 0..cdiv(k, BK) {
        gemm(acc, load(tile(a, [BM, BK])[.., .., bm, p]), load(tile(b, [BN, BK])[.., .., bn, p]));
    }
    copy(cast(acc, f16), tile(c, [BM, BN])[.., .., bm, bn]);
}

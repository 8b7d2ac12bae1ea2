/// The loads feed the product, whose fragments hold two neighbours, and along the other dimension one.
kernel mm<BM = 64, BN = 64, BK = 64>(a: f16[m, k], b: f16[k, n], c: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for i in 0..cdiv(k, BK) {
        gemm(acc, load(tile(a, [BM, BK])[.., .., bm, i]), load(tile(b, [BK, BN])[.., .., i, bn]).T);
    }
    copy(cast(acc, f16), tile(c, [BM, BN])[.., .., bm, bn]);
}

/// `warps:` arranges the warps in a way that no `wgmma` has.
kernel product<BM = 64, BN = 128, BK = 64>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(f16, [BM, BK]);
    let sb = shared_tensor(f16, [BN, BK]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for p in 0..cdiv(k, BK) {
        copy_async(tile(a, [BM, BK])[.., .., bm, p], sa);
        copy_async(tile(b, [BN, BK])[.., .., bn, p], sb);
        commit();
        wait(0);
        sync();
        gemm(acc, sa, sb, warps: [2, 2]);
        sync();
    }
    copy(cast(acc, f16), tile(c, [BM, BN])[.., .., bm, bn]);
}

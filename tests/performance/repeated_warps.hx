/// A tile of 16 × 8 results is that of one `mma.sync`, which both warps compute.
kernel product(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, 16), cdiv(n, 8)]
    threads 64
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [16, 8]);
    fill(acc, 0.0);
    for p in 0..cdiv(k, 64) {
        gemm(acc, load(tile(a, [16, 64])[.., .., bm, p]), load(tile(b, [8, 64])[.., .., bn, p]));
    }
    copy(cast(acc, f16), tile(c, [16, 8])[.., .., bm, bn]);
}

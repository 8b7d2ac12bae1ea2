/// A ring of four stages leaves no room for a second block.
kernel product<STAGES = 4>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, 128), cdiv(n, 128)]
    threads 256
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(f16, [128, 64, STAGES]);
    let sb = shared_tensor(f16, [128, 64, STAGES]);
    let acc = register_tensor(f32, [128, 128]);
    fill(acc, 0.0);
    for s in 0..STAGES - 1 {
        copy_async(tile(a, [128, 64])[.., .., bm, s], sa[.., .., s]);
        copy_async(tile(b, [128, 64])[.., .., bn, s], sb[.., .., s]);
        commit();
    }
    for p in 0..cdiv(k, 64) {
        wait(STAGES - 2);
        sync();
        let next = p + STAGES - 1;
        copy_async(tile(a, [128, 64])[.., .., bm, next], sa[.., .., next % STAGES]);
        copy_async(tile(b, [128, 64])[.., .., bn, next], sb[.., .., next % STAGES]);
        commit();
        gemm(acc, sa[.., .., p % STAGES], sb[.., .., p % STAGES]);
    }
    wait(0);
    copy(cast(acc, f16), tile(c, [128, 128])[.., .., bm, bn]);
}

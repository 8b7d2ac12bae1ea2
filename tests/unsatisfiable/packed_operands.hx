kernel packed_operands(a: i4[k, m], b: i4[k, n], c: mut i32[m, n])
    grid [cdiv(m, 64), cdiv(n, 64)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(i4, [64, 64]);
    let sb = shared_tensor(i4, [64, 64]);
    let acc = register_tensor(i32, [64, 64]);
    fill(acc, 0);
    for ki in 0..cdiv(k, 64) {
        copy(tile(a, [64, 64])[.., .., ki, bm], sa);
        copy(tile(b, [64, 64])[.., .., ki, bn], sb);
        sync();
        gemm(acc, sa.T, sb.T);
        sync();
    }
    copy(acc, tile(c, [64, 64])[.., .., bm, bn]);
}

/// Weights in blocks whose neighbours are not a run of one dimension.
kernel unpacked<W: layout = ((8, 2), (2, 4, 2)) : ((32, 2), (1, 8, 4))>(w: u4[m, n] : W, y: mut f16[m, n])
    grid [cdiv(m, 64), cdiv(n, 64)]
    threads 128
{
    let [i, j] = block_idx;
    let s = shared_tensor(u4, [64, 64]);
    copy(tile(w, [64, 64])[.., .., i, j], s);
    sync();
    copy(cast(load(s), f16), tile(y, [64, 64])[.., .., i, j]);
}

/// Each round has a row of its own, and all 4 warps compute its sum.
kernel centred(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, 8)]
    threads 128
{
    for i in 0..8 {
        let row = load(tile(x, [1, 1024])[.., .., block_idx * 8 + i, 0]);
        copy(row - sum(row, axis: 1) / 1024.0, tile(y, [1, 1024])[.., .., block_idx * 8 + i, 0]);
    }
}

/// A sum along rows and one along columns want other layouts of the same tile.
kernel both(x: f32[m, n], r: mut f32[m], c: mut f32[m, 64])
    grid [cdiv(m, 64)]
    threads 128
{
    for j in 0..cdiv(n, 64) {
        let t = load(tile(x, [64, 64])[.., .., block_idx, j]);
        copy(scan(t, axis: 1, op: |a, b| a + b)[.., 63], tile(r, [64])[.., block_idx]);
        copy(scan(t, axis: 0, op: |a, b| a + b), tile(c, [64, 64])[.., .., block_idx, 0]);
    }
}

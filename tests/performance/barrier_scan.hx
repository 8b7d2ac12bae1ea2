/// Running sums of rows, a row in each round, by 8 warps.
kernel running(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, 8)]
    threads 256
{
    for i in 0..8 {
        let row = load(tile(x, [1, 1024])[.., .., block_idx * 8 + i, 0]);
        copy(scan(row, axis: 1, op: |a, b| a + b), tile(y, [1, 1024])[.., .., block_idx * 8 + i, 0]);
    }
}

// planted: HX0404 in check
// The block that has no rows left would add nothing, but the other one waits for its part.
kernel sums(x: f32[m, 64], y: mut f32[1, 64])
    where m % 32 == 0
    grid [2]
    cluster [2]
    threads 64
{
    let acc = register_tensor(f32, [1, 64]);
    fill(acc, 0.0);
    if block_idx < m / 32 {
        let part = sum(load(tile(x, [32, 64])[.., .., block_idx, 0]), axis: 0);
        acc = sum(part, cluster: 0);
    }
    if block_idx == 0 {
        copy(acc, y);
    }
}

test "sums" {
    sums(randn(f32, [64, 64], seed: 1), empty(f32, [1, 64]));
}

// Sums of all blocks meet in the same elements.
kernel columns(x: i32[m, 32], y: mut i32[1, 32])
    grid [cdiv(m, 16)]
    threads 64
{
    atomic_add(y, sum(load(tile(x, [16, 32])[.., .., block_idx, 0]), axis: 0));
}

test "columns" {
    let x = uniform(i32, [100, 32], low: -9, high: 10, seed: 1);
    let y = zeros(i32, [1, 32]);
    columns(x, y);
    assert_eq(y[0], x.sum(axis: 0));
}

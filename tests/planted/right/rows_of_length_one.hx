// Every extent of the launch is 1, and the tiles are not.
kernel sums(x: f32[m, n], y: mut f32[m, 1])
    grid [cdiv(m, 16)]
    threads 64
{
    copy(sum(load(tile(x, [16, 64])[.., .., block_idx, 0]), axis: 1), tile(y, [16, 1])[.., .., block_idx, 0]);
}

test "sums" for (m, n) in [(1, 1), (17, 1), (1, 64)] {
    let x = ones(f32, [m, n]);
    let y = empty(f32, [m, 1]);
    sums(x, y);
    assert_eq(y, full(f32, [m, 1], n));
}

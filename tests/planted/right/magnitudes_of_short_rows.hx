// Zeros beyond the end are no new maximum of magnitudes, squares and exponentials below one.
kernel scales(x: f32[m, n], y: mut f32[m, 3])
    where n <= 64
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    copy(max(abs(t), axis: 1), tile(y, [1, 1])[.., .., block_idx, 0]);
    copy(max(t * t, axis: 1), tile(y, [1, 1])[.., .., block_idx, 1]);
    copy(sum(t * t, axis: 1), tile(y, [1, 1])[.., .., block_idx, 2]);
}

test "scales" {
    let x = randn(f32, [2, 50], seed: 1);
    let y = empty(f32, [2, 3]);
    scales(x, y);
    assert_eq(y[.., 0], max(abs(x), axis: 1));
    assert_close(y[.., 2], sum(x * x, axis: 1), rtol: 1e-5);
}

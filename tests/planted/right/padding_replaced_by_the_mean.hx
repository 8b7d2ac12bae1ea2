// Beyond the end, the difference from the mean is 0 because the mean stands there.
kernel variance(x: f32[m, n], y: mut f32[m])
    where n <= 256
    grid [m]
    threads 64
{
    let row = load(tile(x, [1, 256])[.., .., block_idx, 0]);
    let count = cast(n, f32);
    let mean = sum(row, axis: 1) / count;
    let d = where(index(row, 1) < n, row, mean) - mean;
    copy((sum(d * d, axis: 1) / count)[0, ..], tile(y, [1])[.., block_idx]);
}

test "variance" {
    let x = cast(randn(f32, [2, 200], seed: 1) + 3.0, f32);
    let y = empty(f32, [2]);
    variance(x, y);
    let d = x - mean(x, axis: 1, keepdims: true);
    assert_close(y, mean(d * d, axis: 1), rtol: 1e-4);
}

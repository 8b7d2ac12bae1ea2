// The logarithm of 0 is -inf, which is no maximum.
kernel largest(x: f32[m, n], y: mut f32[m])
    where n <= 64
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    copy(max(log(t), axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "largest" {
    let x = cast(abs(randn(f32, [2, 50], seed: 1)) * 0.1, f32);
    let y = empty(f32, [2]);
    largest(x, y);
    assert_close(y, log(max(x, axis: 1)), rtol: 1e-5);
}

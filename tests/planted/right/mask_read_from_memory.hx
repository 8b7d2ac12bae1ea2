// The mask ends where the row does, so beyond the end it is false.
kernel sums(x: f32[m, n], valid: bool[m, n], y: mut f32[m])
    where n <= 64
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    let v = load(tile(valid, [1, 64])[.., .., block_idx, 0]);
    copy(sum(where(v, exp(t), 0.0), axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "sums" {
    let x = randn(f32, [2, 50], seed: 1);
    let y = empty(f32, [2]);
    sums(x, x > 0.0, y);
    assert_close(y, sum(where(x > 0.0, exp(x), 0.0), axis: 1), rtol: 1e-5);
}

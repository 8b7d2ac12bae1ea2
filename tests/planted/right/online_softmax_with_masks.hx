// Long rows in tiles: the mask counts from the beginning of the row, and a finite number stands for -inf.
kernel log_sums(x: f32[m, n], y: mut f32[m])
    grid [m]
    threads 32
{
    let (top, total) = (register_tensor(f32, [1, 1]), register_tensor(f32, [1, 1]));
    fill(top, -1e30);
    fill(total, 0.0);
    for j in 0..cdiv(n, 64) {
        let x = load(tile(x, [1, 64])[.., .., block_idx, j]);
        let t = where(index(x, 1) + j * 64 < n, x, -1e30);
        let higher = max(top, max(t, axis: 1));
        total = total * exp(top - higher) + sum(exp(t - higher), axis: 1);
        top = higher;
    }
    copy((top + log(total))[0, ..], tile(y, [1])[.., block_idx]);
}

test "log of sums" for n in [1, 64, 100, 200] {
    let (x, y) = (randn(f32, [2, n], seed: 1), empty(f32, [2]));
    log_sums(x, y);
    assert_close(y, log(sum(exp(x), axis: 1)), rtol: 1e-5, atol: 1e-6);
}

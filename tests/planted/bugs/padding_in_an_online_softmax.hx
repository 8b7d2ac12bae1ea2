// planted: HX0310 in check
kernel log_sums(x: f32[m, n], y: mut f32[m])
    grid [m]
    threads 32
{
    let (top, total) = (register_tensor(f32, [1, 1]), register_tensor(f32, [1, 1]));
    fill(top, -inf);
    fill(total, 0.0);
    for j in 0..cdiv(n, 64) {
        let t = load(tile(x, [1, 64])[.., .., block_idx, j]);
        let higher = max(top, max(t, axis: 1));
        total = total * exp(top - higher) + sum(exp(t - higher), axis: 1);
        top = higher;
    }
    copy((top + log(total))[0, ..], tile(y, [1])[.., block_idx]);
}

test "log of sums" {
    let x = randn(f32, [2, 100], seed: 1);
    let y = empty(f32, [2]);
    log_sums(x, y);
    assert_close(y, log(sum(exp(x), axis: 1)), rtol: 1e-5);
}

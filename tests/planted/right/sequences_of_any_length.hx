// Parts of a tensor, masked by their lengths.
kernel log_sums(x: f32[m], starts: i32[e], y: mut f32[s])
    where e == s + 1
    grid [s]
    threads 32
{
    let (first, end) = (starts[block_idx], starts[block_idx + 1]);
    let total = register_tensor(f32, [1]);
    fill(total, 0.0);
    for i in 0..cdiv(end - first, 32) {
        let t = load(tile(x[first..end], [32])[.., i]);
        total += sum(where(index(t, 0) + i * 32 < end - first, exp(t), 0.0), axis: 0);
    }
    copy(log(total), tile(y, [1])[.., block_idx]);
}

test "sequences" {
    let (x, y) = (randn(f32, [100], seed: 1), empty(f32, [2]));
    log_sums(x, cast([0, 37, 100], i32), y);
    assert_close(y[0], log(sum(exp(x[..37]))), rtol: 1e-5);
    assert_close(y[1], log(sum(exp(x[37..]))), rtol: 1e-5);
}

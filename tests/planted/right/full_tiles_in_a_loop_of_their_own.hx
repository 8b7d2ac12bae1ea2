kernel sums(x: f32[m, n], y: mut f32[m])
    grid [m]
    threads 32
{
    let total = register_tensor(f32, [1, 1]);
    fill(total, 0.0);
    let whole = n / 64;
    for j in 0..whole {
        total += sum(exp(load(tile(x, [1, 64])[.., .., block_idx, j])), axis: 1);
    }
    if whole * 64 < n {
        let t = load(tile(x, [1, 64])[.., .., block_idx, whole]);
        total += sum(where(index(t, 1) + whole * 64 < n, exp(t), 0.0), axis: 1);
    }
    copy(total[0, ..], tile(y, [1])[.., block_idx]);
}

test "sums" for n in [64, 100, 3] {
    let (x, y) = (randn(f32, [2, n], seed: 1), empty(f32, [2]));
    sums(x, y);
    assert_close(y, sum(exp(x), axis: 1), rtol: 1e-5);
}

// The transposed tile is masked along its first axis.
kernel sums(x: f32[m, n], y: mut f32[m])
    where m <= 32, n <= 64
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [32, 64]);
    copy(tile(x, [32, 64])[.., .., 0, 0], s);
    sync();
    let t = load(s.T);
    copy(sum(where(index(t, 0) < n, exp(t), 0.0), axis: 0)[0, ..], tile(y, [32])[.., 0]);
}

test "sums" {
    let (x, y) = (randn(f32, [30, 50], seed: 1), empty(f32, [30]));
    sums(x, y);
    assert_close(y, sum(exp(x), axis: 1), rtol: 1e-5);
}

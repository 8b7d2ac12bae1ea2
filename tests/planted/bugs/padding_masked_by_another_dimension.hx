// planted: HX0310 in check
// `k` columns are wanted, and nothing says that the tensor has so many.
kernel sums(x: f32[m, n], wanted: f32[k], y: mut f32[m])
    where n <= 64, k <= 64
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    let w = load(tile(wanted, [64], pad: 1.0)[.., 0])[new, ..];
    copy(sum(where(index(t, 1) < k, exp(t) * w, 0.0), axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "sums" {
    let x = randn(f32, [2, 40], seed: 1);
    let y = empty(f32, [2]);
    sums(x, full(f32, [60], 1.0), y);
    assert_close(y, sum(exp(x), axis: 1), rtol: 1e-5);
}

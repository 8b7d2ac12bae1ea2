// planted: HX0310 in check
// The rows are masked where the columns end.
kernel sums(x: f32[m, n], y: mut f32[m])
    where n <= 64
    grid [cdiv(m, 8)]
    threads 64
{
    let t = load(tile(x, [8, 64])[.., .., block_idx, 0]);
    let e = where(index(t, 0) < n, exp(t), 0.0);
    copy(sum(e, axis: 1)[.., 0], tile(y, [8])[.., block_idx]);
}

test "sums" {
    let x = randn(f32, [8, 50], seed: 1);
    let y = empty(f32, [8]);
    sums(x, y);
    assert_close(y, sum(exp(x), axis: 1), rtol: 1e-5);
}

// planted: HX0310 in check
// The columns are masked and the rows are not: the sum over rows counts those beyond the end.
kernel total(x: f32[m, n], y: mut f32[1])
    where m <= 16, n <= 64
    grid [1]
    threads 64
{
    let t = load(tile(x, [16, 64])[.., .., 0, 0]);
    let e = where(index(t, 1) < n, exp(t), 0.0);
    copy(reshape(sum(sum(e, axis: 1), axis: 0), [1]), y);
}

test "total" {
    let x = randn(f32, [10, 50], seed: 1);
    let y = empty(f32, [1]);
    total(x, y);
    assert_close(y[0], sum(exp(x)), rtol: 1e-5);
}

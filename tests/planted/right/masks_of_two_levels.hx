// Rows and columns end inside of the tile, and the sum is over both.
kernel total(x: f32[m, n], y: mut f32[1])
    where m <= 16, n <= 64
    grid [1]
    threads 64
{
    let t = load(tile(x, [16, 64])[.., .., 0, 0]);
    let (row, col) = (index(t, 0), index(t, 1));
    let e = where(row < m && col < n, exp(t), 0.0);
    copy(reshape(sum(sum(e, axis: 1), axis: 0), [1]), y);
}

test "total" {
    let (x, y) = (randn(f32, [10, 50], seed: 1), empty(f32, [1]));
    total(x, y);
    assert_close(y[0], sum(exp(x)), rtol: 1e-5);
}

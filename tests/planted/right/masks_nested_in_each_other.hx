// One `where` for the rows around one for the columns.
kernel total(x: f32[m, n], y: mut f32[1])
    grid [1]
    threads 64
{
    let sum_of_all = register_tensor(f32, [1, 1]);
    fill(sum_of_all, 0.0);
    for i in 0..cdiv(m, 16) {
        for j in 0..cdiv(n, 32) {
            let t = load(tile(x, [16, 32])[.., .., i, j]);
            let columns = where(index(t, 1) + j * 32 < n, exp(t), 0.0);
            let rows = where(index(t, 0) + i * 16 < m, columns, 0.0);
            sum_of_all += sum(sum(rows, axis: 1), axis: 0);
        }
    }
    copy(sum_of_all[0, ..], y);
}

test "total" {
    let (x, y) = (randn(f32, [20, 50], seed: 1), empty(f32, [1]));
    total(x, y);
    assert_close(y[0], sum(exp(x)), rtol: 1e-5);
}

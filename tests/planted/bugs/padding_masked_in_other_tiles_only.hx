// planted: HX0310 in check
// The last tile is masked if the one before it is full. Its own end is one tile later.
kernel sums(x: f32[m, n], y: mut f32[m])
    grid [m]
    threads 32
{
    let total = register_tensor(f32, [1, 1]);
    fill(total, 0.0);
    for j in 0..cdiv(n, 64) {
        let e = exp(load(tile(x, [1, 64])[.., .., block_idx, j]));
        if j * 64 > n {
            e = where(index(e, 1) + j * 64 < n, e, 0.0);
        }
        total += sum(e, axis: 1);
    }
    copy(total[0, ..], tile(y, [1])[.., block_idx]);
}

test "sums" {
    let x = randn(f32, [2, 100], seed: 1);
    let y = empty(f32, [2]);
    sums(x, y);
    assert_close(y, sum(exp(x), axis: 1), rtol: 1e-5);
}

// planted: HX0310 in check
// The loop has eight rounds, whatever the number of rows: rounds beyond the end add exp(0).
kernel sums(x: f32[m, 64], y: mut f32[64])
    where m <= 8
    grid [1]
    threads 64
{
    let total = register_tensor(f32, [1, 64]);
    fill(total, 0.0);
    for i in 0..8 {
        total += exp(load(tile(x, [1, 64])[.., .., i, 0]));
    }
    copy(total[0], y);
}

test "sums" {
    let x = randn(f32, [5, 64], seed: 1);
    let y = empty(f32, [64]);
    sums(x, y);
    assert_close(y, sum(exp(x), axis: 0), rtol: 1e-5);
}

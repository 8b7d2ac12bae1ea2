// planted: HX0618 in test
// Two blocks may draw one row.
kernel drawn(x: f32[n, 64], y: mut f32[n, 64], next: mut i32[1])
    grid [3]
    threads 64
{
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    let row = scalar(load(next));
    while row < n {
        copy(load(tile(x, [1, 64])[.., .., row, 0]) * 2.0, tile(y, [1, 64])[.., .., row, 0]);
        sync();
        copy(one + row, next);
        sync();
        row = scalar(load(next));
    }
}

test "drawn" for n in [1, 20] {
    let x = randn(f32, [n, 64], seed: 5);
    let (y, next) = (empty(f32, [n, 64]), zeros(i32, [1]));
    drawn(x, y, next);
    assert_eq(y, x * 2.0);
}

// Rows are picked out of order, one of them twice, and names that are no rows read as zero.
kernel pick(x: f32[m, 32], rows: i32[8], y: mut f32[8, 32])
    grid [1]
    threads 32
{
    copy(load(gather(x, rows)), y);
}

test "pick" {
    let x = randn(f32, [10, 32], seed: 1);
    let rows = cast(where(arange(i32, [8]) < 5, arange(i32, [8]) * 3 - 3, 10 - arange(i32, [8])), i32);
    let y = empty(f32, [8, 32]);
    pick(x, rows, y);
    assert_eq(y[0], zeros(f32, [32]));
    for i in 0..4 {
        assert_eq(y[i + 1], x[3 * i]);
    }
    for i in 5..8 {
        assert_eq(y[i], x[10 - i]);
    }
}

// planted: HX0612 in test
// `row * width` of two numbers of 16 bits wraps for 300 rows of 300.
kernel offset(row: i16, width: i16, y: mut i32[n])
    where n == 32
    grid [1]
    threads 32
{
    let t = register_tensor(i32, [32]);
    fill(t, 0);
    copy(t + cast(row * width, i32), y[..32]);
}

test "offset" {
    let y = empty(i32, [32]);
    offset(300, 300, y);
    assert_eq(y, full(i32, [32], 90000));
}

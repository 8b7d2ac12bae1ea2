// planted: HX0230 in check
// The mean of a mean and a number is no mean of three numbers.
kernel means(x: i32[n], y: mut i32[n])
    where n <= 128
    grid [1]
    threads 64
{
    let t = load(tile(x, [128])[.., 0]);
    copy(scan(t, axis: 0, op: |a, b| (a + b) / 2), tile(y, [128])[.., 0]);
}

test "means" {
    let x = full(i32, [100], 8);
    let y = empty(i32, [100]);
    means(x, y);
    assert_eq(y[0..2], [8, 8]);
}

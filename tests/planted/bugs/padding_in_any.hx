// planted: HX0310 in check
kernel has_zero(x: i32[n], y: mut bool[1])
    where n <= 64
    grid [1]
    threads 32
{
    let t = load(tile(x, [64])[.., 0]);
    copy(any(t == 0, axis: 0), y);
}

test "no zeros" {
    let y = empty(bool, [1]);
    has_zero(full(i32, [60], 7), y);
    assert_eq(y, cast([0], bool));
}

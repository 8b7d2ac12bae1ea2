// planted: HX0310 in check
kernel least(x: f32[m, n], y: mut i32[m])
    where n <= 64
    grid [m]
    threads 32
{
    let t = cast(load(tile(x, [1, 64])[.., .., block_idx, 0]) * 10.0, i32);
    copy(min(t, axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "least" {
    let y = empty(i32, [2]);
    least(full(f32, [2, 50], 1.5), y);
    assert_eq(y, [15, 15]);
}

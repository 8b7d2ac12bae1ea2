// planted: HX0310 in check
kernel volume(x: f32[m, n], y: mut f32[m])
    where n <= 8
    grid [m]
    threads 32
{
    let t = abs(load(tile(x, [1, 8])[.., .., block_idx, 0]));
    copy(reduce(t, axis: 1, op: |a, b| a * b)[0, ..], tile(y, [1])[.., block_idx]);
}

test "volume" {
    let y = empty(f32, [2]);
    volume(full(f32, [2, 3], -2.0), y);
    assert_eq(y, [8.0, 8.0]);
}

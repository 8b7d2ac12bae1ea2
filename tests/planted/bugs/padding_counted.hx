// planted: HX0310 in check
kernel zeros_in(x: f32[m, n], y: mut f32[m])
    where n <= 128
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 128])[.., .., block_idx, 0]);
    copy(sum(cast(t == 0.0, f32), axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "zeros" {
    let y = empty(f32, [2]);
    zeros_in(full(f32, [2, 100], 1.0), y);
    assert_eq(y, [0.0, 0.0]);
}

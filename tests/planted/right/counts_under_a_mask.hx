kernel zeros_in(x: f32[m, n], y: mut i32[m])
    where n <= 128
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 128])[.., .., block_idx, 0]);
    let is_zero = t == 0.0 && index(t, 1) < n;
    copy(sum(cast(is_zero, i32), axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "zeros" {
    let x = full(f32, [2, 100], 1.0);
    x[1, 7] = 0.0;
    let y = empty(i32, [2]);
    zeros_in(x, y);
    assert_eq(y, [0, 1]);
}

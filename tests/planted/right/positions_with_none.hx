// -1 stands for no position, and is less than all others.
kernel last_positive(x: f32[m, n], at: mut i32[m])
    where n <= 64
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    let place = where(t > 0.0, index(t, 1), -1);
    copy(max(place, axis: 1)[0, ..], tile(at, [1])[.., block_idx]);
}

test "last" {
    let at = empty(i32, [2]);
    last_positive(cast([[1.0, -1.0, 2.0, -1.0], [-1.0, -1.0, -1.0, -1.0]], f32), at);
    assert_eq(at, [2, -1]);
}

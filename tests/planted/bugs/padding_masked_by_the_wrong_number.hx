// planted: HX0310 in check
// The mask is right, the number in the place of padding is not: all elements are negative.
kernel largest(x: f32[m, n], y: mut f32[m])
    where n <= 64
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    let inside = index(t, 1) < n;
    copy(max(where(inside, t, 0.0), axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "largest" {
    let x = cast(randn(f32, [2, 50], seed: 1) - 9.0, f32);
    let y = empty(f32, [2]);
    largest(x, y);
    assert_eq(y, max(x, axis: 1));
}

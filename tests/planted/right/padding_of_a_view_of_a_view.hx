// The inner view says what lies beyond the end, and the tile of it keeps that.
kernel largest(x: f32[m, n], y: mut f32[m])
    where n <= 64
    grid [m]
    threads 32
{
    let padded = global_view(x, (m, n) : (n, 1), pad: -inf);
    let t = load(tile(padded, [1, 64])[.., .., block_idx, 0]);
    copy(max(t, axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "largest" {
    let x = cast(randn(f32, [2, 50], seed: 1) - 9.0, f32);
    let y = empty(f32, [2]);
    largest(x, y);
    assert_eq(y, max(x, axis: 1));
}

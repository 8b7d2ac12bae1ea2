// The padding loses against every element, by `pad:` and by masks of both kinds.
kernel extremes(x: f32[m, n], at: mut i32[m, 3])
    where n <= 64
    grid [m]
    threads 32
{
    let padded = load(tile(x, [1, 64], pad: -inf)[.., .., block_idx, 0]);
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    let inside = index(t, 1) < n;
    copy(argmax(padded, axis: 1), tile(at, [1, 1])[.., .., block_idx, 0]);
    copy(argmin(where(inside, t, inf), axis: 1), tile(at, [1, 1])[.., .., block_idx, 1]);
    copy(argmax(abs(t), axis: 1), tile(at, [1, 1])[.., .., block_idx, 2]);
}

test "positions" for n in [50, 64, 1] {
    let x = cast(randn(f32, [3, n], seed: 1) - 4.0, f32);
    let at = empty(i32, [3, 3]);
    extremes(x, at);
    assert_eq(at[.., 0], argmax(x, axis: 1));
    assert_eq(at[.., 1], argmin(x, axis: 1));
    assert_eq(at[.., 2], argmax(abs(x), axis: 1));
}

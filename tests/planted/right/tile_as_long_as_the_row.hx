kernel largest<N = 64>(x: f32[m, n], y: mut f32[m])
    where n == N
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, N])[.., .., block_idx, 0]) - 1.0;
    copy(max(t, axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "largest" {
    let x = cast(randn(f32, [2, 64], seed: 1) - 9.0, f32);
    let y = empty(f32, [2]);
    largest(x, y);
    assert_eq(y, max(x, axis: 1) - 1.0);
}

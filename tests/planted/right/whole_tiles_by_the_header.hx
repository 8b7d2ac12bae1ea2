kernel largest(x: f32[m, n], y: mut f32[m])
    where n % 32 == 0
    grid [m]
    threads 32
{
    let most = register_tensor(f32, [1, 32]);
    fill(most, -inf);
    for j in 0..n / 32 {
        most = max(most, load(tile(x, [1, 32])[.., .., block_idx, j]) * 2.0);
    }
    copy(max(most, axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "largest" {
    let x = cast(randn(f32, [2, 96], seed: 1) - 9.0, f32);
    let y = empty(f32, [2]);
    largest(x, y);
    assert_eq(y, max(x, axis: 1) * 2.0);
}

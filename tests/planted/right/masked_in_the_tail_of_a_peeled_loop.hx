// Only the last round masks its tile, in the tail that `#[peel]` splits off, and in a branch of the loop.
kernel best(x: f32[m, n], y: mut f32[m, 1])
    grid [cdiv(m, 4)]
    threads 64
{
    let top = register_tensor(f32, [4, 1]);
    fill(top, -100.0);
    #[peel]
    for j in 0..cdiv(n, 32) {
        let v = load(tile(x, [4, 32])[.., .., block_idx, j]);
        if (j + 1) * 32 > n {
            v = where(index(v, 1) + j * 32 < n, v, -100.0);
        }
        top = max(top, max(v, axis: 1));
    }
    copy(top, tile(y, [4, 1])[.., .., block_idx, 0]);
}

kernel best_in_branches(x: f32[m, n], y: mut f32[m, 1])
    grid [cdiv(m, 4)]
    threads 64
{
    let top = register_tensor(f32, [4, 1]);
    fill(top, -100.0);
    for j in 0..cdiv(n, 32) {
        let v = load(tile(x, [4, 32])[.., .., block_idx, j]);
        if (j + 1) * 32 > n {
            v = where(index(v, 1) + j * 32 < n, v, -100.0);
        }
        top = max(top, max(v, axis: 1));
    }
    copy(top, tile(y, [4, 1])[.., .., block_idx, 0]);
}

test "the best of a row" for (m, n) in [(4, 64), (5, 33), (9, 100)] {
    let x = cast(randn(f32, [m, n], seed: 1) - 20.0, f32);
    let y = empty(f32, [m, 1]);
    best(x, y);
    assert_eq(y, max(x, axis: 1, keepdims: true));
    best_in_branches(x, y);
    assert_eq(y, max(x, axis: 1, keepdims: true));
}

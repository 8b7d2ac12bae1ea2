// planted: HX0310 in check
// The last window is cut if `n` is odd.
kernel pool(x: f32[n], y: mut f32[p])
    where 2 * p >= n
    grid [cdiv(p, 32)]
    threads 32
{
    let t = load(tile(x, [64])[.., block_idx]);
    copy(reshape(max(reshape(t, [32, 2]), axis: 1), [32]), tile(y, [32])[.., block_idx]);
}

test "pool" {
    let x = full(f32, [33], -2.0);
    let y = empty(f32, [17]);
    pool(x, y);
    assert_eq(y, full(f32, [17], -2.0));
}

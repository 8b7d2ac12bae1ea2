// No rows, no blocks: the launch does nothing.
kernel double(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 64)]
    threads 32
{
    copy(load(tile(x, [64])[.., block_idx]) * 2.0, tile(y, [64])[.., block_idx]);
}

test "double" for m in [0, 1, 63, 64, 65] {
    let x = randn(f32, [m], seed: 1);
    let y = empty(f32, [m]);
    double(x, y);
    assert_eq(y, x * 2.0);
}

// planted: HX0601 in test
// The kernel relies on whole tiles, and the launch has 100 elements.
kernel double(x: f32[m], y: mut f32[m])
    where m % 64 == 0
    grid [m / 64]
    threads 32
{
    copy(load(tile(x, [64])[.., block_idx]) * 2.0, tile(y, [64])[.., block_idx]);
}

test "double" {
    let y = empty(f32, [100]);
    double(randn(f32, [100], seed: 1), y);
}

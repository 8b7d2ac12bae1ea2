// planted: HX0604 in test
// Both arguments are `m` long in the header; the launch passes 64 and 128.
kernel double(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 64)]
    threads 32
{
    copy(load(tile(x, [64])[.., block_idx]) * 2.0, tile(y, [64])[.., block_idx]);
}

test "double" {
    let y = empty(f32, [128]);
    double(randn(f32, [64], seed: 1), y);
}

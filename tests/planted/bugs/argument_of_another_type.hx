// planted: HX0603 in test
// Rows of `f32` go to a kernel that reads `f16`.
kernel double(x: f16[m], y: mut f16[m])
    grid [cdiv(m, 64)]
    threads 32
{
    copy(load(tile(x, [64])[.., block_idx]) * 2.0, tile(y, [64])[.., block_idx]);
}

test "double" {
    let y = empty(f16, [64]);
    double(randn(f32, [64], seed: 1), y);
}

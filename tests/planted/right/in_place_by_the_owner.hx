// Each thread overwrites what it alone has read.
kernel negate(y: mut f32[m])
    grid [cdiv(m, 128)]
    threads 32
{
    let t = tile(y, [128])[.., block_idx];
    copy(-load(t), t);
}

test "negate" {
    let y = randn(f32, [300], seed: 1);
    let z = y.copy();
    negate(y);
    assert_eq(y, -z);
}

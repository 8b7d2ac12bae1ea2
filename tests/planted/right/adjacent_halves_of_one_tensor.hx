// Source and destination are views of one tensor that share no element.
kernel double(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 64)]
    threads 32
{
    copy(load(tile(x, [64])[.., block_idx]) * 2.0, tile(y, [64])[.., block_idx]);
}

test "double" {
    let a = randn(f32, [128], seed: 1);
    let b = a.copy();
    double(a[..64], a[64..]);
    assert_eq(a[64..], b[..64] * 2.0);
}

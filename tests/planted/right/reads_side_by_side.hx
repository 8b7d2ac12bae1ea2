// Two transposed reads of one buffer need no barrier between them.
kernel reads(x: f32[32, 32], y: mut f32[32, 32], z: mut f32[32, 32])
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [32, 32]);
    copy(load(x), s);
    sync();
    copy(load(s.T), y);
    copy(load(s) + load(s.T), z);
}

test "reads" {
    let x = randn(f32, [32, 32], seed: 1);
    let y = empty(f32, [32, 32]);
    let z = empty(f32, [32, 32]);
    reads(x, y, z);
    assert_eq(y, x.T);
    assert_eq(z, cast(x + x.T, f32));
}

// Two stores fill two halves of one buffer with no barrier between them: they share no element.
kernel joins(x: f32[32], y: mut f32[64])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [64]);
    let t = load(x);
    copy(t, s[..32]);
    copy(-t, s[32..]);
    sync();
    copy(load(s), y);
}

test "joins" {
    let x = randn(f32, [32], seed: 1);
    let y = empty(f32, [64]);
    joins(x, y);
    assert_eq(y[..32], x);
    assert_eq(y[32..], -x);
}

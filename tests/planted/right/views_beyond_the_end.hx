// The view is twice as long as the buffer: reads beyond the end give the padding, stores there are dropped.
kernel pads(x: f32[m], y: mut f32[n], z: mut f32[m])
    grid [1]
    threads 32
{
    let t = load(global_view(x[0..], (64) : (1), pad: 7.0));
    copy(t, global_view(y[0..], (64) : (1)));
    copy(t + 1.0, global_view(z[0..], (64) : (1)));
}

test "pads" {
    let x = randn(f32, [33], seed: 1);
    let y = empty(f32, [64]);
    let z = empty(f32, [33]);
    pads(x, y, z);
    assert_eq(y[..33], x);
    assert_eq(y[33..], full(f32, [31], 7.0));
    assert_eq(z, cast(x + 1.0, f32));
}

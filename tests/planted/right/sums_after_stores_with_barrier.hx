// A block stores, adds and reads the same elements, each time by other threads, with barriers in between.
kernel steps(x: f32[128], y: mut f32[128], z: mut f32[128])
    grid [1]
    threads 64
{
    let t = register_tensor(f32, [128], layout: (64, 2) : (2, 1));
    let q = register_tensor(f32, [128], layout: (64, 2) : (1, 64));
    copy(x, t);
    copy(t, y);
    sync();
    fill(q, 1.0);
    atomic_add(y, q);
    sync();
    copy(y, t);
    copy(t, z);
}

test "steps" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    let z = empty(f32, [128]);
    steps(x, y, z);
    assert_eq(z, cast(x + 1.0, f32));
    assert_eq(y, z);
}

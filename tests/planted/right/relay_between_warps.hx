// Rows pass from warp to warp through global memory, a barrier between the store and the load.
kernel relay(x: f32[128], y: mut f32[128], z: mut f32[128])
    grid [1]
    threads 64
{
    let a = register_tensor(f32, [128], layout: (64, 2) : (2, 1));
    let b = register_tensor(f32, [128], layout: (64, 2) : (1, 64));
    copy(x, a);
    copy(a, y);
    sync();
    copy(y, b);
    copy(b, z);
}

test "relay" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    let z = empty(f32, [128]);
    relay(x, y, z);
    assert_eq(z, x);
}

/// Two conflicts in one operation: `c` disagrees with `a` and with `b`, so giving up the layout of `b` alone is not enough.
kernel three_pins(x: f32[64, 64], z: f32[64, 64], y: mut f32[64, 64])
    grid [1]
    threads 128
{
    let a = register_tensor(f32, [64, 64], layout: (128, 32) : (32, 1));
    let b = register_tensor(f32, [64, 64], layout: (128, 32) : (32, 1));
    let c = register_tensor(f32, [64, 64], layout: (128, 32) : (1, 128));
    copy(x, a);
    copy(z, b);
    c = a + b;
    copy(c, y);
}

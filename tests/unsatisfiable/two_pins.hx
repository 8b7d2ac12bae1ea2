kernel two_pins(x: f16[m, n], y: mut f16[m, n])
    grid [1]
    threads 128
{
    let a = register_tensor(f16, [64, 64], layout: ((8, 16), (8, 4)) : ((512, 1), (64, 16)));
    let b = register_tensor(f16, [64, 64], layout: ((32, 4), (2, 16)) : ((128, 1), (64, 4)));
    copy(tile(x, [64, 64])[.., .., 0, 0], a);
    b = a * 2.0;
    copy(b, tile(y, [64, 64])[.., .., 0, 0]);
}

// Of 64 threads several read each of the 16 elements, and one stores it: the compiler puts a barrier in between.
kernel double(y: mut f32[16], z: mut f32[64, 16])
    grid [1]
    threads 64
{
    let t = load(y);
    copy(t * 2.0, y);
    let zeros = register_tensor(f32, [64, 16]);
    fill(zeros, 0.0);
    copy(zeros + t[new, ..], z);
}

test "double" {
    let x = randn(f32, [16], seed: 3);
    let y = x.copy();
    let z = empty(f32, [64, 16]);
    double(y, z);
    assert_eq(y, x * 2.0);
    assert_eq(z, broadcast_to(x, [64, 16]));
}

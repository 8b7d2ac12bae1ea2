// planted: HX0618 in test
// Of 64 threads several read each of the 16 elements, one stores it, and another warp may read what was stored.
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
    let y = randn(f32, [16], seed: 1);
    let z = empty(f32, [64, 16]);
    double(y, z);
}

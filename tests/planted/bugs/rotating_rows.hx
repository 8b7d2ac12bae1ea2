// planted: HX0618 in test
// Every round moves a row up by one, read and stored by the same threads, and reads it once more by others.
kernel scroll(y: mut f32[64, 64], z: mut f32[64])
    grid [1]
    threads 64
{
    let a = register_tensor(f32, [64], layout: (64, 1) : (1, 0));
    let b = register_tensor(f32, [64], layout: ((32, 2), 1) : ((2, 1), 0));
    for i in 0..63 {
        copy(y[i + 1, ..], a);
        copy(a, y[i, ..]);
        copy(y[i, ..], b);
    }
    copy(b, z);
}

test "scroll" {
    let y = randn(f32, [64, 64], seed: 1);
    let z = empty(f32, [64]);
    scroll(y, z);
}

// planted: HX0605 in test
// Both arguments are views of one host tensor, and the kernel writes one of them.
kernel shift(x: f32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    copy(load(x) + 1.0, y);
}

test "shift" {
    let a = randn(f32, [96], seed: 1);
    shift(a[0..64], a[32..96]);
}

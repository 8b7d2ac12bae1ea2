// planted: HX0605 in test
// Both results go to one host tensor, from its first and from its second half on.
kernel split(x: f32[64], y: mut f32[64], z: mut f32[64])
    grid [1]
    threads 32
{
    let t = load(x);
    copy(t, y);
    copy(-t, z);
}

test "split" {
    let a = empty(f32, [100]);
    split(randn(f32, [64], seed: 1), a[..64], a[36..]);
}

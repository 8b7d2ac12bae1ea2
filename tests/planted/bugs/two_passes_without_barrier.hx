// planted: HX0618 in test
// The second pass reads rows that other threads of the block stored in the first.
kernel passes(x: f32[64, 32], y: mut f32[64, 32], z: mut f32[32, 64])
    grid [1]
    threads 128
{
    for i in 0..4 {
        copy(load(tile(x, [16, 32])[.., .., i, 0]), tile(y, [16, 32])[.., .., i, 0]);
    }
    let t = register_tensor(f32, [32, 64], layout: (128, 16) : (1, 128));
    copy(y.T, t);
    copy(t, z);
}

test "passes" {
    let y = empty(f32, [64, 32]);
    let z = empty(f32, [32, 64]);
    passes(randn(f32, [64, 32], seed: 1), y, z);
}

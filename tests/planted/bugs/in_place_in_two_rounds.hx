// planted: HX0605 in test
// The second round loads what the first one stored, if both arguments are one tensor.
kernel twice(x: f32[n], y: mut f32[n])
    grid [cdiv(n, 128)]
    threads 32
{
    for i in 0..2 {
        copy(load(tile(x, [128])[.., block_idx]) * 2.0, tile(y, [128])[.., block_idx]);
    }
}

test "twice" {
    let x = randn(f32, [300], seed: 1);
    twice(x, x);
}

// planted: HX0617 in test
// Only the first half of the buffer is filled.
kernel halves(x: f32[32], y: mut f32[64])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [64]);
    copy(load(x), s[..32]);
    sync();
    copy(load(s), y);
}

test "halves" {
    let y = empty(f32, [64]);
    halves(randn(f32, [32], seed: 1), y);
}

// planted: HX0211 in check
// The slice ends one row after the buffer.
kernel cut(x: f32[32, 32], y: mut f32[16, 32])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [32, 32]);
    copy(load(x), s);
    sync();
    copy(load(s[17..33, ..]), y);
}

test "cut" {
    let y = empty(f32, [16, 32]);
    cut(randn(f32, [32, 32], seed: 1), y);
}

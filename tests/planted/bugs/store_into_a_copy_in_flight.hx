// planted: HX0403 in check
// The tail of the buffer is set to zero while the copy into it is still under way.
kernel pad(x: f32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [64]);
    copy_async(x, s);
    commit();
    let zero = register_tensor(f32, [16]);
    fill(zero, 0.0);
    copy(zero, s[48..64]);
    wait(0);
    sync();
    copy(s, y);
}

test "pad" {
    let y = empty(f32, [64]);
    pad(randn(f32, [64], seed: 1), y);
}

// planted: HX0617 in test
// With no whole tile in the row, nothing fills the buffer.
kernel last(x: f32[n], y: mut f32[64])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [64]);
    for i in 0..n / 64 {
        copy(load(tile(x, [64])[.., i]), s);
        sync();
    }
    copy(load(s), y);
}

test "last" {
    let y = empty(f32, [64]);
    last(randn(f32, [63], seed: 1), y);
}

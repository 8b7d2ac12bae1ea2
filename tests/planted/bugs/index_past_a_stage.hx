// planted: HX0211 in check
// A buffer of two stages is asked for its third.
kernel stages(x: f32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [64, 2]);
    copy(load(x), s[.., 2]);
    sync();
    copy(load(s[.., 1]), y);
}

test "stages" {
    let x = randn(f32, [64], seed: 1);
    let y = empty(f32, [64]);
    stages(x, y);
}

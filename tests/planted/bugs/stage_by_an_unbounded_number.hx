// planted: HX0210 in check
// The stage is a number of the launch that may be anything.
kernel stages(x: f32[64], y: mut f32[64], i: i32)
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [64, 2]);
    copy(load(x), s[.., i]);
    sync();
    copy(load(s[.., i]), y);
}

test "stages" {
    let y = empty(f32, [64]);
    stages(randn(f32, [64], seed: 1), y, 2);
}

// planted: HX0205 in check
// A buffer of no stages has no stage 0.
kernel stages<STAGES = 0>(x: f32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [64, STAGES]);
    copy(load(x), s[.., 0]);
    sync();
    copy(load(s[.., 0]), y);
}

test "stages" {
    let y = empty(f32, [64]);
    stages(randn(f32, [64], seed: 1), y);
}

// planted: HX0401 in check
// `sync_warp()` orders each warp on its own; the transposed read wants what other warps wrote.
kernel turn(x: f32[64, 64], y: mut f32[64, 64])
    grid [1]
    threads 128
{
    let s = shared_tensor(f32, [64, 64]);
    copy(load(x), s);
    sync_warp();
    copy(load(s.T), y);
}

test "turn" {
    let y = empty(f32, [64, 64]);
    turn(randn(f32, [64, 64], seed: 1), y);
}

// planted: HX0401 in check
// The next tile is copied into the stage that other threads are still reading.
kernel ring(x: f32[n], y: mut f32[n])
    where n % 128 == 0
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [128]);
    let t = register_tensor(f32, [128], layout: (64, 2) : (1, 64));
    copy_async(tile(x, [128])[.., 0], s);
    commit();
    for i in 0..n / 128 {
        wait(0);
        sync();
        copy(s, t);
        copy_async(tile(x, [128])[.., i + 1], s);
        commit();
        copy(t, tile(y, [128])[.., i]);
    }
    wait(0);
}

test "ring" {
    let y = empty(f32, [512]);
    ring(randn(f32, [512], seed: 1), y);
}

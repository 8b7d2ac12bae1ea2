// planted: HX0403 in check
// Two stages are in flight, and the tile that is read may be in the group that `wait(1)` leaves.
kernel pair(x: f32[m], y: mut f32[m])
    where m % 128 == 0
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [128, 2]);
    copy_async(tile(x, [128])[.., 0], s[.., 0]);
    commit();
    for i in 0..m / 128 {
        copy_async(tile(x, [128])[.., i + 1], s[.., (i + 1) % 2]);
        commit();
        wait(2);
        sync();
        copy(s[.., i % 2], tile(y, [128])[.., i]);
        sync();
    }
    wait(0);
}

test "pair" {
    let x = randn(f32, [512], seed: 1);
    let y = empty(f32, [512]);
    pair(x, y);
    assert_eq(y, x);
}

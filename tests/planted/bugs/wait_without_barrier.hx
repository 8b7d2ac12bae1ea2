// planted: HX0401 in check
// A wait makes a thread's own copies visible to it; the transposed read wants those of others.
kernel turn(x: f32[64, 64], y: mut f32[64, 64])
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [64, 64]);
    copy_async(x, s);
    commit();
    wait(0);
    copy(load(s.T), y);
}

test "turn" {
    let x = randn(f32, [64, 64], seed: 1);
    let y = empty(f32, [64, 64]);
    turn(x, y);
    assert_eq(y, x.T);
}

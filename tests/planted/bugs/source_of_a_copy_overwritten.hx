// planted: HX0618 in test
// The buffer is cleared while `copy_async` may still be reading it.
kernel take(x: mut f32[128], y: mut f32[128])
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [128]);
    copy_async(x, s);
    commit();
    let zero = register_tensor(f32, [128]);
    fill(zero, 0.0);
    copy(zero, x);
    wait(0);
    sync();
    copy(s, y);
}

test "take" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    let c = x.copy();
    take(x, y);
    assert_eq(y, c);
}

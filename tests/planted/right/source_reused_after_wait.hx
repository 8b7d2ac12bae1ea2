// The source of an asynchronous copy is cleared after the wait, and after a barrier for the threads that did not copy it.
kernel take(x: mut f32[128], y: mut f32[128])
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [128]);
    copy_async(x, s);
    commit();
    wait(0);
    sync();
    let zero = register_tensor(f32, [128]);
    fill(zero, 0.0);
    copy(zero, x);
    copy(s, y);
}

test "take" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    let c = x.copy();
    take(x, y);
    assert_eq(y, c);
    assert_eq(x, zeros(f32, [128]));
}

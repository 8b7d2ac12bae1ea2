// planted: HX0403 in check
// `wait(0)` waits for closed groups; this copy is in an open one.
kernel staged(x: f32[256], y: mut f32[256])
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy_async(x, s);
    wait(0);
    sync();
    copy(s, y);
}

test "staged" {
    let x = randn(f32, [256], seed: 1);
    let y = empty(f32, [256]);
    staged(x, y);
    assert_eq(y, x);
}

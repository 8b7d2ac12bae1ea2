// planted: HX0403 in check
// The copy is committed and a barrier passed, but nobody waits for it.
kernel staged(x: f32[256], y: mut f32[256])
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy_async(x, s);
    commit();
    sync();
    copy(s, y);
}

test "staged" {
    let x = randn(f32, [256], seed: 1);
    let y = empty(f32, [256]);
    staged(x, y);
    assert_eq(y, x);
}

// planted: HX0618 in test
// `wait(1)` leaves the second half in flight, and its source is overwritten, too.
kernel halves(x: mut f32[256], y: mut f32[256])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [128, 2]);
    for i in 0..2 {
        copy_async(tile(x, [128])[.., i], s[.., i]);
        commit();
    }
    wait(1);
    sync();
    let zero = register_tensor(f32, [256]);
    fill(zero, 0.0);
    copy(zero, x);
    wait(0);
    sync();
    for i in 0..2 {
        copy(s[.., i], tile(y, [128])[.., i]);
    }
}

test "halves" {
    let x = randn(f32, [256], seed: 1);
    let y = empty(f32, [256]);
    halves(x, y);
}

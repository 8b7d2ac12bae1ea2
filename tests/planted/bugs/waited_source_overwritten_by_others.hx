// planted: HX0618 in test
// Each thread waits for its own copies; the thread that clears an element may not be the one that copied it.
kernel take(x: mut f32[128], y: mut f32[128])
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [128]);
    copy_async(x, s);
    commit();
    wait(0);
    let zero = register_tensor(f32, [128], layout: (64, 2) : (1, 64));
    fill(zero, 0.0);
    copy(zero, x);
    sync();
    copy(s, y);
}

test "take" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    take(x, y);
}

// Atomic accesses of different threads to one element need no barrier between them, in shared memory as well.
kernel counts(x: i32[64], y: mut i32[4])
    grid [1]
    threads 64
{
    let s = shared_tensor(i32, [4]);
    let none = register_tensor(i32, [4]);
    fill(none, 0);
    copy(none, s);
    sync();
    let t = load(x);
    atomic_add(scatter(s, t % 4), t * 0 + 1);
    atomic_max(scatter(s, t % 2), t * 0 + 20);
    sync();
    copy(load(s), y);
}

test "counts" {
    let y = empty(i32, [4]);
    counts(arange(i32, [64]), y);
    assert_eq(y[0], 20);
    assert_eq(y[3], 16);
}

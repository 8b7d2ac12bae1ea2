// planted: HX0401 in check
// A count in shared memory is read while other threads still count.
kernel counts(x: i32[64], y: mut i32[64])
    grid [1]
    threads 64
{
    let s = shared_tensor(i32, [64]);
    let t = load(x);
    copy(t, s);
    sync();
    atomic_add(s, t);
    copy(t + load(s[0..1]), y);
}

test "counts" {
    let y = empty(i32, [64]);
    counts(ones(i32, [64]), y);
}

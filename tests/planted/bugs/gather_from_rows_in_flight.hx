// planted: HX0403 in check
// The rows are still being copied to shared memory when they are used.
kernel pick(x: f32[64, 32], rows: i32[16], y: mut f32[16, 32])
    grid [1]
    threads 32
{
    let s = shared_tensor(i32, [16]);
    copy_async(rows, s);
    commit();
    copy(load(gather(x, s)), y);
}

test "pick" {
    let y = empty(f32, [16, 32]);
    pick(randn(f32, [64, 32], seed: 1), arange(i32, [16]), y);
}

// planted: HX0401 in check
// The rows are written to shared memory by other threads than those that follow them.
kernel pick(x: f32[64, 32], rows: i32[64], y: mut f32[64, 32])
    grid [1]
    threads 64
{
    let s = shared_tensor(i32, [64]);
    copy(load(rows), s);
    copy(load(gather(x, s)), y);
}

test "pick" {
    let y = empty(f32, [64, 32]);
    pick(randn(f32, [64, 32], seed: 1), arange(i32, [64]), y);
}

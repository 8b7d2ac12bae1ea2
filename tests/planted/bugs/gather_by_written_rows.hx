// planted: HX0214 in check
// The rows to gather are named by a tensor that the kernel itself may write.
kernel pick(x: f32[8, 32], rows: mut i32[8], y: mut f32[8, 32])
    grid [1]
    threads 32
{
    let first = register_tensor(i32, [8]);
    fill(first, 0);
    copy(first, rows);
    copy(load(gather(x, rows)), y);
}

test "pick" {
    let rows = arange(i32, [8]);
    let y = empty(f32, [8, 32]);
    pick(randn(f32, [8, 32], seed: 1), rows, y);
}

// planted: HX0210 in check
// The offset of a segment is a number of the launch, and nothing says that it is inside.
kernel segment(start: i32, x: f32[m, 32], y: mut f32[16, 32])
    grid [1]
    threads 32
{
    copy(load(global_view(x[start.., ..], (16, 32) : (32, 1))), y);
}

test "segment" {
    let y = empty(f32, [16, 32]);
    segment(-4, randn(f32, [30, 32], seed: 1), y);
}

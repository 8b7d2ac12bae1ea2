// planted: HX0612 in test
// The kernel says what it relies on, and the launch breaks it.
kernel root(x: f32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    let t = load(x);
    assert(t >= 0.0, "roots of negative numbers");
    copy(sqrt(t), y);
}

test "root" {
    let y = empty(f32, [64]);
    root(full(f32, [64], -1.0), y);
}

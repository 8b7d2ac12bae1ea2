// planted: HX0618 in test
// The elements are cleared after other threads have added to them.
kernel late_zero(x: f32[128], y: mut f32[128])
    grid [1]
    threads 64
{
    atomic_add(y, load(x));
    let zero = register_tensor(f32, [128], layout: (64, 2) : (1, 64));
    fill(zero, 0.0);
    copy(zero, y);
}

test "late zero" {
    let x = randn(f32, [128], seed: 1);
    let y = zeros(f32, [128]);
    late_zero(x, y);
}

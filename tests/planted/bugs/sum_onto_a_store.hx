// planted: HX0618 in test
// A thread adds to an element that another thread of the block has just stored: the store may come last.
kernel bias(x: f32[128], y: mut f32[128])
    grid [1]
    threads 64
{
    let t = register_tensor(f32, [128], layout: (64, 2) : (2, 1));
    copy(x, t);
    copy(t, y);
    let one = register_tensor(f32, [128], layout: (64, 2) : (1, 64));
    fill(one, 1.0);
    atomic_add(y, one);
}

test "bias" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    bias(x, y);
    assert_eq(y, x + 1.0);
}

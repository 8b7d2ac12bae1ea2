// planted: HX0303 in check
// A thread-value layout has two modes; this one says which threads there are and not what each holds.
kernel moves(x: f32[64], y: mut f32[64])
    grid [1]
    threads 64
{
    let a = register_tensor(f32, [64], layout: (64) : (1));
    copy(x, a);
    copy(a, y);
}

test "moves" {
    let x = randn(f32, [64], seed: 1);
    let y = empty(f32, [64]);
    moves(x, y);
    assert_eq(y, x);
}

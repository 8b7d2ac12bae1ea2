// planted: HX0310 in check
kernel least(x: f32[n], y: mut f32[1])
    grid [1]
    threads 64
{
    let few = register_tensor(f32, [128]);
    fill(few, inf);
    let i = 0;
    while i < n {
        few = min(few, load(global_view(x[i..], (128,) : (1,))));
        i = i + 128;
    }
    copy(min(few, axis: 0), y);
}

test "least" {
    let x = cast(abs(randn(f32, [300], seed: 1)) + 1.0, f32);
    let y = empty(f32, [1]);
    least(x, y);
    assert_eq(y[0], min(x));
}

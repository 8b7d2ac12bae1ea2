// planted: HX0205 in check
// Half of one column is no column.
kernel half<N = 1>(x: f32[32, N], y: mut f32[32, N])
    grid [1]
    threads 32
{
    let t = register_tensor(f32, [32, N / 2]);
    fill(t, 0.0);
    copy(t, y);
}

test "half" {
    let y = empty(f32, [32, 1]);
    half(randn(f32, [32, 1], seed: 1), y);
}

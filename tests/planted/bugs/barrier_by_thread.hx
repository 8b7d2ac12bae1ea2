// planted: HX0214 in check
// Some threads pass the barrier and others do not: the condition is a tensor.
kernel half(x: f32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    let t = load(x);
    if t > 0.0 {
        sync();
    }
    copy(t, y);
}

test "half" {
    let y = empty(f32, [64]);
    half(randn(f32, [64], seed: 1), y);
}

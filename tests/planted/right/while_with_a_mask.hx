kernel sums(x: f32[n], y: mut f32[1])
    grid [1]
    threads 64
{
    let total = register_tensor(f32, [1]);
    fill(total, 0.0);
    let first = 0;
    while first < n {
        let t = load(global_view(x[first..], (128,) : (1,)));
        total += sum(where(index(t, 0) + first < n, exp(t), 0.0), axis: 0);
        first = first + 128;
    }
    copy(total, y);
}

test "sums" for n in [300, 128, 5] {
    let (x, y) = (randn(f32, [n], seed: 1), empty(f32, [1]));
    sums(x, y);
    assert_close(y[0], sum(exp(x)), rtol: 1e-5);
}

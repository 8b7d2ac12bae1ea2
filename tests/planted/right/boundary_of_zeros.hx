// Neighbours beyond the ends are 0 by the rule of the stencil.
kernel step(x: f32[n], y: mut f32[n])
    grid [cdiv(n, 64)]
    threads 64
{
    let first = block_idx * 64;
    let next = register_tensor(f32, [64]);
    fill(next, 0.0);
    for d in 0..3 {
        next += 0.25 * load(global_view(x[first + d - 1..], (64,) : (1,)));
    }
    next += 0.25 * load(tile(x, [64])[.., block_idx]);
    copy(next, tile(y, [64])[.., block_idx]);
}

test "step" {
    let (x, y) = (randn(f32, [100], seed: 1), empty(f32, [100]));
    step(x, y);
    let p = zeros(f32, [102]);
    p[1..101] = x;
    assert_close(y, 0.25 * (p[..100] + 2.0 * p[1..101] + p[2..]), rtol: 1e-5, atol: 1e-6);
}

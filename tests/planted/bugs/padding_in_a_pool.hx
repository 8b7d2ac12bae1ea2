// planted: HX0310 in check
// Around the image there are zeros, which win against negative elements. `pad: -inf` is missing.
kernel pool(x: f32[n], y: mut f32[n])
    grid [cdiv(n, 64)]
    threads 64
{
    let first = block_idx * 64;
    let best = register_tensor(f32, [64]);
    fill(best, -inf);
    #[unroll]
    for d in 0..3 {
        best = max(best, load(global_view(x[first + d - 1..], (64,) : (1,))));
    }
    copy(best, tile(y, [64])[.., block_idx]);
}

test "pool" {
    let x = cast(randn(f32, [100], seed: 1) - 9.0, f32);
    let y = empty(f32, [100]);
    pool(x, y);
    let p = full(f32, [102], -inf);
    p[1..101] = x;
    assert_eq(y, max(max(p[..100], p[1..101]), p[2..]));
}

//! y[m, n] = x[m, n] · a, rows in blocks.

kernel scale<BM = 16, BN = 64>(x: f32[m, n], y: mut f32[m, n], a: f32)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let t = register_tensor(f32, [BM, BN]);
    copy(global_view(x[bm * BM.., bn * BN..], (BM, BN) : (n, 1)), t);
    t = t * a;
    copy(t, global_view(y[bm * BM.., bn * BN..], (BM, BN) : (n, 1)));
}

test "scale multiplies every element" for (m, n) in [(16, 64), (33, 100), (1, 7)] {
    let x = randn(f32, [m, n], seed: 3);
    let y = empty(f32, [m, n]);
    scale(x, y, 2.5);
    assert_close(y, x * 2.5, ulp: 1);
}

//! A first kernel, its test, and a program that runs it.

/// y[m, n] = x[m, n] · a, one tile of 16 rows and 64 columns a block.
kernel scale<BM = 16, BN = 64>(x: f32[m, n], y: mut f32[m, n], a: f32)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let t = load(tile(x, [BM, BN])[.., .., bm, bn]);
    copy(t * a, tile(y, [BM, BN])[.., .., bm, bn]);
}

test "scale multiplies every element" for (m, n) in [(16, 64), (33, 100)] {
    let x = randn(f32, [m, n], seed: 1);
    let y = empty(f32, [m, n]);
    scale(x, y, 2.5);
    assert_close(y, x * 2.5, ulp: 1);
}

main {
    let x = arange(f32, [4, 8]);
    let y = empty(f32, [4, 8]);
    scale(x, y, 2.0);
    print(y);
}

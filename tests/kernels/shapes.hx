//! Register tensors under other shapes, and views whose modes have several parts.

/// y = x, by way of other shapes.
kernel reshaped<T: type = f32>(x: T[16, 24], y: mut T[4, 4, 24], z: mut T[16, 3, 8], w: mut T[384])
    grid [1]
    threads 32
{
    let t = load(x);
    copy(reshape(t, [4, 4, 24]), y);
    copy(reshape(t, [16, 3, 8]), z);
    copy(reshape(reshape(t, [16, 24, 1]), [384]), w);
}

test "other shapes" {
    let x = randn(f32, [16, 24], seed: 1);
    let (y, z, w) = (empty(f32, [4, 4, 24]), empty(f32, [16, 3, 8]), empty(f32, [384]));
    reshaped(x, y, z, w);
    assert_eq(y, reshape(x, [4, 4, 24]));
    assert_eq(z, reshape(x, [16, 3, 8]));
    assert_eq(w, reshape(x, [384]));
}

/// Columns of x in another order: the view's mode of 8 columns has parts of 4 and 2 (Fig. 16 of the CGO paper).
kernel interleaved<BM = 16>(x: f16[m, 8], y: mut f16[m, 8])
    grid [cdiv(m, BM)]
    threads 32
{
    let i = block_idx * BM;
    let t = load(global_view(x[i.., ..], (BM, (4, 2)) : (8, (2, 1))));
    copy(t, y[i..i + BM, ..]);
}

/// The inverse of `interleaved`.
kernel deinterleaved<BM = 16>(x: f16[m, 8], y: mut f16[m, 8])
    grid [cdiv(m, BM)]
    threads 32
{
    let i = block_idx * BM;
    copy(x[i..i + BM, ..], global_view(y[i.., ..], (BM, (4, 2)) : (8, (2, 1))));
}

test "a mode of two parts" for m in [16, 37] {
    let x = randn(f16, [m, 8], seed: 1);
    let (y, z) = (empty(f16, [m, 8]), empty(f16, [m, 8]));
    interleaved(x, y);
    for c in 0..8 {
        assert_eq(y[.., c], x[.., c % 4 * 2 + c / 4]);
    }
    deinterleaved(y, z);
    assert_eq(z, x);
}

/// A convolution as a matrix product: x is [h, w, c], weights are [o, K, K, c]. The pixels of a tile are one mode of two parts.
kernel convolution<BH = 4, BW = 16, BN = 32, C = 32, K = 3, P = 1>(
    x: f16[h, w, C],
    weights: f16[o, K, K, C],
    y: mut f32[h, w, o],
)
    grid [cdiv(w, BW), cdiv(h, BH), cdiv(o, BN)]
    threads 128
{
    let [bw, bh, bo] = block_idx;
    let (i, j) = (bh * BH, bw * BW);
    let acc = register_tensor(f32, [BW * BH, BN]);
    fill(acc, 0.0);
    for d in 0..K * K {
        let (u, v) = (d / K, d % K);
        let pixels = global_view(x[i + u - P.., j + v - P.., ..], ((BW, BH), C) : ((C, C * w), 1));
        gemm(acc, load(pixels), load(tile(weights[.., u, v, ..], [BN, C])[.., .., bo, 0]));
    }
    copy(reshape(acc, [BH, BW, BN]), tile(y, [BH, BW, BN])[.., .., .., bh, bw, bo]);
}

test "a convolution on tensor cores" for (h, w, o) in [(4, 16, 32), (9, 21, 40)] {
    let (x, weights) = (randn(f16, [h, w, 32], seed: 1), randn(f16, [o, 3, 3, 32], seed: 2));
    let y = empty(f32, [h, w, o]);
    convolution(x, weights, y);
    let p = zeros(f64, [h + 2, w + 2, 32]);
    p[1..h + 1, 1..w + 1] = x;
    let expected = zeros(f64, [h, w, o]);
    for d in 0..9 {
        let (u, v) = (d / 3, d % 3);
        expected = expected + p[u..u + h, v..v + w] @ weights[.., u, v].T;
    }
    assert_close(y, expected, rtol: 0.001, atol: 0.001);
}

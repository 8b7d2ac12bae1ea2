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

/// y = x, by way of shapes whose extents are no powers of two.
kernel uneven<T: type = f32>(x: T[6, 20], y: mut T[120], z: mut T[3, 40], w: mut T[6, 4, 5])
    grid [1]
    threads 32
{
    let t = load(x);
    copy(reshape(t, [120]), y);
    copy(reshape(t, [3, 40]), z);
    copy(reshape(t, [6, 4, 5]), w);
}

test "shapes of no power of two" {
    let x = randn(f32, [6, 20], seed: 1);
    let (y, z, w) = (empty(f32, [120]), empty(f32, [3, 40]), empty(f32, [6, 4, 5]));
    uneven(x, y, z, w);
    assert_eq(y, reshape(x, [120]));
    assert_eq(z, reshape(x, [3, 40]));
    assert_eq(w, reshape(x, [6, 4, 5]));
}

/// y = x in rows of another length. The ends of the rows, at multiples of 20 and of 30, do not divide each other.
kernel rewrapped(x: f16[m, 20], y: mut f16[n, 30])
    grid [cdiv(m, 30)]
    threads 96
{
    let t = load(tile(x, [30, 20])[.., .., block_idx, 0]);
    copy(reshape(t, [20, 30]), tile(y, [20, 30])[.., .., block_idx, 0]);
}

test "rows of another length" for n in [20, 48] {
    let (x, y) = (randn(f16, [n * 3 / 2, 20], seed: 1), empty(f16, [n, 30]));
    rewrapped(x, y);
    assert_eq(y, reshape(x, [n, 30]));
}

/// The largest of each 2 by 2 elements.
kernel pooled<BM = 12, BN = 36>(x: f32[m, n], y: mut f32[p, q])
    where m % 2 == 0, n % 2 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let t = reshape(load(tile(x, [BM, BN])[.., .., bm, bn]), [BM / 2, 2, BN / 2, 2]);
    let most = max(max(t, axis: 1), axis: 3);
    copy(reshape(most, [BM / 2, BN / 2]), tile(y, [BM / 2, BN / 2])[.., .., bm, bn]);
}

test "the largest of each 2 by 2" for (m, n) in [(12, 36), (34, 50)] {
    let (x, y) = (randn(f32, [m, n], seed: 1), empty(f32, [m / 2, n / 2]));
    pooled(x, y);
    assert_eq(y, max(max(reshape(x, [m / 2, 2, n / 2, 2]), axis: 3), axis: 1));
}

/// Sums of three neighbours in rows of 24.
kernel sums_of_three<BM = 7>(x: f32[m, 24], y: mut f32[m, 8])
    grid [cdiv(m, BM)]
    threads 64
{
    let t = reshape(load(tile(x, [BM, 24])[.., .., block_idx, 0]), [BM, 8, 3]);
    copy(reshape(sum(t, axis: 2), [BM, 8]), tile(y, [BM, 8])[.., .., block_idx, 0]);
}

test "sums of three neighbours" for m in [7, 20] {
    let (x, y) = (randn(f32, [m, 24], seed: 1), empty(f32, [m, 8]));
    sums_of_three(x, y);
    let expected = cast(x[.., 0..24], f64);
    for c in 0..8 {
        assert_close(
            y[.., c],
            expected[.., 3 * c] + expected[.., 3 * c + 1] + expected[.., 3 * c + 2],
            rtol: 0.00001,
            atol: 0.00001,
        );
    }
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

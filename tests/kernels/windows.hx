//! Windows: views with two modes over one dimension, whose elements overlap. Convolutions and pooling read them from a tensor
//! without padding.

/// y = the mean of windows of `K` elements that are `D` apart. Windows are `S` apart, and the first begins `P` before x.
kernel means<B = 32, K = 3, S = 2, D = 2, P = 1>(x: f32[m], y: mut f32[o])
    grid [cdiv(o, B)]
    threads 32
{
    let b = block_idx * B;
    let t = load(global_view(x[b * S - P..], (B, K) : (S, D)));
    copy(sum(t, axis: 1)[.., 0] * (1.0 / K), y[b..b + B]);
}

test "means of windows" for (m, K, S, D, P) in [
    (200, 3, 2, 2, 1),
    (64, 4, 1, 1, 0),
    (7, 2, 3, 4, 5),
    (65, 8, 4, 1, 3),
] {
    let o = (m + 2 * P - D * (K - 1) - 1) / S + 1;
    let (x, y) = (randn(f32, [m], seed: 1), empty(f32, [o]));
    let p = zeros(f64, [m + 2 * P]);
    p[P..P + m] = x;
    let expected = zeros(f64, [o]);
    for i in 0..o {
        for k in 0..K {
            expected[i] = expected[i] + p[i * S + k * D] / K;
        }
    }
    means<K = K, S = S, D = D, P = P>(x, y);
    assert_close(y, expected, ulp: 8);
}

/// A convolution of each channel with its own `K` × `K` weights, with a stride and a dilation, on an input without padding.
/// A block computes a tile of `BH` × `BW` outputs of one channel of one image; the view has a mode for each side of the window.
kernel depthwise<BH = 8, BW = 16, K = 3, S = 1, D = 1, P = 1, T: type = f32>(
    x: T[b, c, h, w],
    weights: T[c, K, K],
    y: mut T[b, c, oh, ow],
)
    grid [cdiv(ow, BW), cdiv(oh, BH), b * c]
    threads 128
{
    let [bw, bh, image] = block_idx;
    let (channel, image) = (image % c, image / c);
    let (i, j) = (bh * BH, bw * BW);
    let t = load(
        global_view(x[image, channel, i * S - P.., j * S - P..], (BH, BW, K, K) : (S * w, S, D * w, D)),
    );
    let products = cast(t, f32) * cast(load(weights[channel, new, new, .., ..]), f32);
    let sums = sum(sum(products, axis: 3), axis: 2)[.., .., 0, 0];
    copy(cast(sums, T), y[image, channel, i..i + BH, j..j + BW]);
}

test "convolutions with a stride and a dilation" for (h, w, S, D, P) in [
    (16, 32, 1, 1, 1),
    (13, 21, 2, 1, 1),
    (17, 19, 1, 2, 2),
    (20, 23, 2, 2, 0),
    (5, 40, 2, 2, 3),
] {
    let (oh, ow) = ((h + 2 * P - 2 * D - 1) / S + 1, (w + 2 * P - 2 * D - 1) / S + 1);
    let (x, weights) = (randn(f32, [2, 3, h, w], seed: 1), randn(f32, [3, 3, 3], seed: 2));
    let y = empty(f32, [2, 3, oh, ow]);
    depthwise<S = S, D = D, P = P>(x, weights, y);
    let p = zeros(f64, [2, 3, h + 2 * P + S, w + 2 * P + S]);
    p[.., .., P..P + h, P..P + w] = x;
    let expected = zeros(f64, [2, 3, oh, ow]);
    for i in 0..oh {
        for j in 0..ow {
            let (r, s) = (i * S, j * S);
            for d in 0..9 {
                let (u, v) = (d / 3, d % 3);
                expected[.., .., i, j] = expected[.., .., i, j]
                    + p[.., .., r + u * D, s + v * D] * weights[.., u, v];
            }
        }
    }
    assert_close(y, expected, ulp: 16);
}

test "convolutions of halves" {
    let (x, weights) = (randn(f16, [1, 2, 24, 40], seed: 1), randn(f16, [2, 3, 3], seed: 2));
    let y = empty(f16, [1, 2, 24, 40]);
    depthwise<T = f16>(x, weights, y);
    let p = zeros(f64, [1, 2, 26, 42]);
    p[.., .., 1..25, 1..41] = x;
    let expected = zeros(f64, [1, 2, 24, 40]);
    for c in 0..2 {
        for d in 0..9 {
            let (u, v) = (d / 3, d % 3);
            expected[0, c] = expected[0, c] + p[0, c, u..u + 24, v..v + 40] * weights[c, u, v];
        }
    }
    assert_close(y, expected, ulp: 2);
}

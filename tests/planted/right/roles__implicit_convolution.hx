/// A convolution of images [h, w, C] with `K` × `K` weights as an implicit product: the producer copies the pixels of each tap, shifted by the
/// tap, and the weights of the tap; a consumer multiplies. A tile of pixels is `BH` × `BW`; around the image are zeros.
kernel implicit_convolution<BH = 4, BW = 16, BN = 32, C = 32, K = 3, P = 1, S = 3>(
    x: f16[h, w, C],
    weights: f16[o, K, K, C],
    y: mut f16[h, w, o],
)
    grid [cdiv(w, BW), cdiv(h, BH), cdiv(o, BN)]
{
    let [bw, bh, bo] = block_idx;
    let (sx, sw) = (shared_tensor(f16, [BH, BW, C, S]), shared_tensor(f16, [BN, C, S]));
    let pipe = pipeline(S);
    warp_groups {
        producer registers 56 {
            for d in 0..K * K {
                let (u, v) = (d / K, d % K);
                let s = pipe.acquire();
                copy_async(
                    global_view(x[bh * BH + u - P.., bw * BW + v - P.., ..], (BH, BW, C) : (C * w, C, 1)),
                    sx[.., .., .., s],
                    signal: pipe,
                );
                copy_async(tile(weights[.., u, v, ..], [BN, C])[.., .., bo, 0], sw[.., .., s], signal: pipe);
            }
        }
        consumer {
            let pixels = reshape(sx, [BH * BW, C, S]);
            let acc = register_tensor(f32, [BH * BW, BN]);
            fill(acc, 0.0);
            for _ in 0..K * K {
                let s = pipe.wait();
                gemm(acc, load(pixels[.., .., s]), sw[.., .., s]);
                pipe.release();
            }
            copy(cast(reshape(acc, [BH, BW, BN]), f16), tile(y, [BH, BW, BN])[.., .., .., bh, bw, bo]);
        }
    }
}

test "a convolution" for (h, w, o) in [(8, 16, 32), (5, 19, 40), (13, 33, 8)] {
    let (x, weights) = (randn(f16, [h, w, 32], seed: 1), randn(f16, [o, 3, 3, 32], seed: 2));
    let p = zeros(f64, [h + 2, w + 2, 32]);
    p[1..h + 1, 1..w + 1] = x;
    let expected = zeros(f64, [h * w, o]);
    for d in 0..9 {
        let (u, v) = (d / 3, d % 3);
        expected = expected + reshape(p[u..u + h, v..v + w], [h * w, 32]) @ weights[.., u, v].T;
    }
    let y = empty(f16, [h, w, o]);
    implicit_convolution(x, weights, y);
    assert_close(reshape(y, [h * w, o]), expected, ulp: 4);
}

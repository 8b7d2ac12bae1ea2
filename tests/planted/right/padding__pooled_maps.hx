/// Maximum and mean of `K` × `K` windows, `S` apart, with `P` elements around the image that do not count: neither for the maximum nor for the number of
/// elements of the mean.
kernel pooled_maps<BH = 8, BW = 16, K = 3, S = 2, P = 1>(
    x: f32[c, h, w],
    most: mut f32[c, oh, ow],
    mean: mut f32[c, oh, ow],
)
    grid [cdiv(ow, BW), cdiv(oh, BH), c]
    threads 64
{
    let [bw, bh, channel] = block_idx;
    let (i, j) = (bh * BH, bw * BW);
    let window = (BH, BW, K, K) : (S * w, S, w, 1);
    let high = load(global_view(x[channel, i * S - P.., j * S - P..], window, pad: -inf));
    copy(max(max(high, axis: 3), axis: 2)[.., .., 0, 0], most[channel, i..i + BH, j..j + BW]);
    let v = load(global_view(x[channel, i * S - P.., j * S - P..], window));
    let (row, column) = (
        index(v, 2) + index(v, 0) * S + (i * S - P),
        index(v, 3) + index(v, 1) * S + (j * S - P),
    );
    let inside = row >= 0 && row < h && column >= 0 && column < w;
    let number = sum(sum(where(inside, cast(1.0, f32), 0.0), axis: 3), axis: 2)[.., .., 0, 0];
    let total = sum(sum(v, axis: 3), axis: 2)[.., .., 0, 0];
    copy(total / max(number, 1.0), mean[channel, i..i + BH, j..j + BW]);
}

test "pooling" for (c, h, w) in [(2, 16, 32), (1, 13, 7), (3, 9, 40), (1, 2, 2)] {
    let (oh, ow) = ((h + 2 - 3) / 2 + 1, (w + 2 - 3) / 2 + 1);
    let x = cast(randn(f32, [c, h, w], seed: 1) - 2.0, f32);
    let (most, means) = (empty(f32, [c, oh, ow]), empty(f32, [c, oh, ow]));
    pooled_maps(x, most, means);
    for i in 0..oh {
        for j in 0..ow {
            let part = x[.., max(0, 2 * i - 1)..min(h, 2 * i + 2), max(0, 2 * j - 1)..min(w, 2 * j + 2)];
            assert_eq(most[.., i, j], max(max(part, axis: 2), axis: 1));
            assert_close(means[.., i, j], mean(mean(part, axis: 2), axis: 1), rtol: 1e-5, atol: 1e-5);
        }
    }
}

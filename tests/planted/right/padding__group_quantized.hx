/// Asymmetric quantization to 4 bits in groups of `G` elements of each row: scale = (max - min) / 15, zero = min, q = round((x - zero) / scale). The last
/// group of a row may be short; a group of equal elements gets the scale 1.
kernel group_quantized<BM = 8, G = 64>(
    x: f32[m, n],
    q: mut u4[m, n],
    scale: mut f32[m, g],
    zero: mut f32[m, g],
)
    where g == cdiv(n, G), n % 2 == 0
    grid [cdiv(m, BM), g]
    threads 32
{
    let [bm, j] = block_idx;
    let high = load(tile(x, [BM, G], pad: -inf)[.., .., bm, j]);
    let v = load(tile(x, [BM, G])[.., .., bm, j]);
    let inside = index(v, 1) + j * G < n;
    let top = max(high, axis: 1);
    let low = min(where(inside, v, inf), axis: 1);
    let range = (top - low) / 15.0;
    let by = where(range > 0.0, range, 1.0);
    let steps = round((v - low) / by);
    copy(cast(max(min(steps, 15.0), 0.0), u4), tile(q, [BM, G])[.., .., bm, j]);
    copy(rearrange(by, auto), tile(scale, [BM, 1])[.., .., bm, j]);
    copy(rearrange(low, auto), tile(zero, [BM, 1])[.., .., bm, j]);
}

test "groups of 4 bits" for (m, n) in [(8, 128), (20, 100), (3, 2), (9, 198)] {
    let x = cast(randn(f32, [m, n], seed: 1) + 2.0, f32);
    let g = cdiv(n, 64);
    let (q, scale, zero) = (empty(u4, [m, n]), empty(f32, [m, g]), empty(f32, [m, g]));
    group_quantized(x, q, scale, zero);
    for j in 0..g {
        let (first, end) = (j * 64, min(n, j * 64 + 64));
        let part = x[.., first..end];
        assert_eq(zero[.., j], min(part, axis: 1));
        assert_close(scale[.., j], (max(part, axis: 1) - min(part, axis: 1)) / 15.0, rtol: 1e-5);
        let back = q[.., first..end] * reshape(scale[.., j], [m, 1]) + reshape(zero[.., j], [m, 1]);
        let error = abs(back - part) - 0.51 * reshape(scale[.., j], [m, 1]);
        assert(all(error <= 0.0));
    }
}

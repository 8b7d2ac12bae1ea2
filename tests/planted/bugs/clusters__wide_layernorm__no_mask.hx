// planted: HX0310 in check
// The mask is missing: elements past the end of the row are zeros and count as -mean in the variance. Shows for n < 1024 on rows
// whose mean is not 0.
/// Layer normalization of long rows: the `C` blocks of a cluster share a row, each keeps its part in registers, and two sums over the cluster
/// give the mean and the variance.
kernel wide_layernorm<B = 256, C = 4>(x: f32[m, n], w: f32[n], b: f32[n], y: mut f32[m, n], eps: f32)
    where n <= B * C, n >= 1
    grid [C * m]
    cluster [C]
    threads 64
{
    let (rank, row) = (block_idx % C, block_idx / C);
    let v = load(tile(x[row], [B])[.., rank]);
    let mean = sum(sum(v, axis: 0), cluster: 0) / cast(n, f32);
    let centred = v - mean;
    let variance = sum(sum(centred * centred, axis: 0), cluster: 0) / cast(n, f32);
    let scaled = centred * rsqrt(variance + eps) * load(tile(w, [B])[.., rank])
        + load(tile(b, [B])[.., rank]);
    copy(scaled, tile(y[row], [B])[.., rank]);
}

test "long rows" for (m, n) in [(1, 1024), (3, 1000), (2, 300), (5, 7)] {
    let x = cast(randn(f32, [m, n], seed: 1) + 3.0, f32);
    let (w, b) = (randn(f32, [n], seed: 2), randn(f32, [n], seed: 3));
    let y = empty(f32, [m, n]);
    wide_layernorm(x, w, b, y, 1e-5);
    let c = x - mean(x, axis: 1, keepdims: true);
    assert_close(y, c / sqrt(mean(c * c, axis: 1, keepdims: true) + 1e-5) * w + b, rtol: 1e-3, atol: 1e-4);
}

//! Normalization of rows that fit the registers of a block.

/// y[i, ..] = x[i, ..] / √(mean(x[i, ..]²) + eps) · w, for rows of at most `BN` elements; a block takes `BM` rows.
kernel rmsnorm<BM = 1, BN = 1024, T: type = f16>(x: T[m, n], w: T[n], y: mut T[m, n], eps: f32)
    where n <= BN
    grid [cdiv(m, BM)]
    threads max(32, min(1024, BM * BN / 32))
{
    let [bm] = block_idx;
    let row = cast(load(tile(x, [BM, BN])[.., .., bm, 0]), f32);
    let mean = sum(row * row, axis: 1) / cast(n, f32);
    let scale = rsqrt(mean + eps);
    let weight = cast(load(tile(w, [BN])[.., 0][new, ..]), f32);    // late, so that it takes no registers before
    copy(cast(row * scale * weight, T), tile(y, [BM, BN])[.., .., bm, 0]);
}

/// y[i, ..] = (x[i, ..] - mean) / √(variance + eps) · w + b, for rows of at most `BN` elements; a block takes `BM` rows.
kernel layernorm<BM = 1, BN = 1024, T: type = f16>(x: T[m, n], w: T[n], b: T[n], y: mut T[m, n], eps: f32)
    where n <= BN
    grid [cdiv(m, BM)]
    threads max(32, min(1024, BM * BN / 32))
{
    let [bm] = block_idx;
    let row = cast(load(tile(x, [BM, BN])[.., .., bm, 0]), f32);
    let mean = sum(row, axis: 1) / cast(n, f32);
    let centred = where(index(row, 1) < n, row - mean, 0.0);
    let variance = sum(centred * centred, axis: 1) / cast(n, f32);
    let scale = rsqrt(variance + eps);
    let weight = cast(load(tile(w, [BN])[.., 0][new, ..]), f32);
    let bias = cast(load(tile(b, [BN])[.., 0][new, ..]), f32);
    copy(cast(centred * scale * weight + bias, T), tile(y, [BM, BN])[.., .., bm, 0]);
}

test "rmsnorm" for (m, n) in [(1, 1024), (5, 1000), (9, 80)] {
    let x = randn(f16, [m, n], seed: 1);
    let w = randn(f16, [n], seed: 2);
    let y = empty(f16, [m, n]);
    rmsnorm(x, w, y, 1e-5);
    assert_close(y, x / sqrt(mean(x * x, axis: 1, keepdims: true) + 1e-5) * w, ulp: 2);
}

test "layernorm" for (m, n) in [(1, 1024), (5, 1000), (9, 80)] {
    let x = randn(bf16, [m, n], seed: 1) + 3.0;
    let xb = cast(x, bf16);
    let w = randn(bf16, [n], seed: 2);
    let b = randn(bf16, [n], seed: 3);
    let y = empty(bf16, [m, n]);
    layernorm(xb, w, b, y, 1e-5);
    let c = xb - mean(xb, axis: 1, keepdims: true);
    assert_close(y, c / sqrt(mean(c * c, axis: 1, keepdims: true) + 1e-5) * w + b, ulp: 2);
}

bench "normalization 8192 × 8192" {
    let x = randn(f16, [8192, 8192]);
    let w = randn(f16, [8192]);
    let b = randn(f16, [8192]);
    let y = empty(f16, [8192, 8192]);
    measure bytes 2 * 2 * 8192 * 8192 { rmsnorm<BN = 8192>(x, w, y, 1e-5) }
    measure bytes 2 * 2 * 8192 * 8192 { layernorm<BN = 8192>(x, w, b, y, 1e-5) }
    baseline copy(2147483648)
}

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

test "rmsnorm" for (m, n) in [(1, 1024), (5, 1000), (9, 80), (3, 77)] {
    for T in [f16, bf16, f32] {
        let x = randn(T, [m, n], seed: 1);
        let w = randn(T, [n], seed: 2);
        let y = empty(T, [m, n]);
        rmsnorm(x, w, y, 1e-5);
        let reference = x / sqrt(mean(x * x, axis: 1, keepdims: true) + 1e-5) * w;
        // In f32 itself, the root and the sum are good for a few units in the last place.
        assert_close(y, reference, ulp: if T == f32 { 16 } else { 2 });
    }
}

test "layernorm" for (m, n) in [(1, 1024), (5, 1000), (9, 80), (3, 77)] {
    for T in [f16, bf16, f32] {
        let x = cast(randn(T, [m, n], seed: 1) + 3.0, T);
        let w = randn(T, [n], seed: 2);
        let b = randn(T, [n], seed: 3);
        let y = empty(T, [m, n]);
        layernorm(x, w, b, y, 1e-5);
        let c = x - mean(x, axis: 1, keepdims: true);
        let reference = c / sqrt(mean(c * c, axis: 1, keepdims: true) + 1e-5) * w + b;
        // In f32 itself, what the mean was rounded by stays in every element.
        assert_close(y, reference, ulp: if T == f32 { 32 } else { 2 });
    }
}

test "normalization moves 16 bytes at a time" {
    let x = randn(f16, [4, 1024], seed: 1);
    let w = randn(f16, [1024], seed: 2);
    let y = empty(f16, [4, 1024]);
    rmsnorm(x, w, y, 1e-5);
    assert(bytes_per_access("x") == 16 && bytes_per_access("y") == 16);
    assert(spills() == 0);
    layernorm(x, w, w, y, 1e-5);
    assert(bytes_per_access("x") == 16 && bytes_per_access("y") == 16);
    assert(spills() == 0);
}

bench "normalization 8192 × 8192" {
    let x = randn(f16, [8192, 8192]);
    let w = randn(f16, [8192]);
    let b = randn(f16, [8192]);
    let y = empty(f16, [8192, 8192]);
    measure bytes 2 * 2 * 8192 * 8192 { rmsnorm<BN = 8192>(x, w, y, 1e-5) }
    measure bytes 2 * 2 * 8192 * 8192 { layernorm<BN = 8192>(x, w, b, y, 1e-5) }
}

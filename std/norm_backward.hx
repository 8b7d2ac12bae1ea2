//! Derivatives of the normalizations of rows that fit the registers of a block.

/// The derivatives of `std::norm::rmsnorm` along dy: dx, and dw summed into what is there. `BLOCKS` blocks take the rows in turn.
#[accept(
    "barrier-in-loop",
    "a row fills the registers of the whole block, and its gradients need its own sums",
)]
kernel rmsnorm_backward<BN = 1024, BLOCKS = 528, T: type = f16>(
    x: T[m, n],
    w: T[n],
    dy: T[m, n],
    dx: mut T[m, n],
    dw: mut f32[n],
    eps: f32,
)
    where n <= BN
    grid [min(m, BLOCKS)]
    threads max(32, min(512, BN / 8))
{
    let weight = cast(load(tile(w, [BN])[.., 0][new, ..]), f32);
    let dweight = register_tensor(f32, [1, BN]);
    fill(dweight, 0.0);
    for i in 0..cdiv(m - block_idx, BLOCKS) {
        let row = block_idx + i * BLOCKS;
        let rx = cast(load(tile(x, [1, BN])[.., .., row, 0]), f32);
        let rd = cast(load(tile(dy, [1, BN])[.., .., row, 0]), f32);
        let g = rd * weight;
        let scale = rsqrt(sum(rx * rx, axis: 1) / cast(n, f32) + eps);
        let along = sum(g * rx, axis: 1) / cast(n, f32) * scale * scale;
        copy(cast((g - rx * along) * scale, T), tile(dx, [1, BN])[.., .., row, 0]);
        dweight = dweight + rd * rx * scale;
    }
    atomic_add(tile(dw, [BN])[.., 0], dweight[0, ..]);
}

/// The derivatives of `std::norm::layernorm` along dy: dx, and dw and db summed into what is there.
#[accept(
    "barrier-in-loop",
    "a row fills the registers of the whole block, and its gradients need its own sums",
)]
kernel layernorm_backward<BN = 1024, BLOCKS = 528, T: type = f16>(
    x: T[m, n],
    w: T[n],
    dy: T[m, n],
    dx: mut T[m, n],
    dw: mut f32[n],
    db: mut f32[n],
    eps: f32,
)
    where n <= BN
    grid [min(m, BLOCKS)]
    threads max(32, min(512, BN / 8))
{
    let weight = cast(load(tile(w, [BN])[.., 0][new, ..]), f32);
    let dweight = register_tensor(f32, [1, BN]);
    let dbias = register_tensor(f32, [1, BN]);
    fill(dweight, 0.0);
    fill(dbias, 0.0);
    for i in 0..cdiv(m - block_idx, BLOCKS) {
        let row = block_idx + i * BLOCKS;
        let rx = cast(load(tile(x, [1, BN])[.., .., row, 0]), f32);
        let rd = cast(load(tile(dy, [1, BN])[.., .., row, 0]), f32);
        let mean = sum(rx, axis: 1) / cast(n, f32);
        let centred = where(index(rx, 1) < n, rx - mean, 0.0);
        let scale = rsqrt(sum(centred * centred, axis: 1) / cast(n, f32) + eps);
        let hat = centred * scale;
        let g = rd * weight;
        let level = sum(g, axis: 1) / cast(n, f32);
        let along = sum(g * hat, axis: 1) / cast(n, f32);
        copy(cast((g - level - hat * along) * scale, T), tile(dx, [1, BN])[.., .., row, 0]);
        dweight = dweight + rd * hat;
        dbias = dbias + rd;
    }
    atomic_add(tile(dw, [BN])[.., 0], dweight[0, ..]);
    atomic_add(tile(db, [BN])[.., 0], dbias[0, ..]);
}

test "rmsnorm_backward" for (m, n) in [(1, 1024), (7, 1000), (9, 77)] {
    for T in [f16, bf16, f32] {
        let x = randn(T, [m, n], seed: 1);
        let w = randn(T, [n], seed: 2);
        let dy = randn(T, [m, n], seed: 3);
        let dx = empty(T, [m, n]);
        let dw = zeros(f32, [n]);
        rmsnorm_backward<BLOCKS = 3>(x, w, dy, dx, dw, 1e-5);
        let r = 1.0 / sqrt(mean(x * x, axis: 1, keepdims: true) + 1e-5);
        let g = dy * w;
        let want = (g - x * (mean(g * x, axis: 1, keepdims: true) * r * r)) * r;
        assert_close(dx, want, ulp: if T == f32 { 64 } else { 2 });
        assert_close(dw, sum(dy * x * r, axis: 0), rtol: 1e-4, atol: 1e-4);
    }
}

test "rows that blocks do not have add nothing, without eps too" for T in [f16, f32] {
    let x = randn(T, [7, 100], seed: 1);
    let w = randn(T, [100], seed: 2);
    let dy = randn(T, [7, 100], seed: 3);
    let dx = empty(T, [7, 100]);
    let (dw, db) = (zeros(f32, [100]), zeros(f32, [100]));
    rmsnorm_backward<BLOCKS = 3>(x, w, dy, dx, dw, 0.0);
    assert_close(
        dw,
        sum(dy * x / sqrt(mean(x * x, axis: 1, keepdims: true)), axis: 0),
        rtol: 1e-4,
        atol: 1e-4,
    );
    dw[..] = 0.0;
    layernorm_backward<BLOCKS = 3>(x, w, dy, dx, dw, db, 0.0);
    let c = x - mean(x, axis: 1, keepdims: true);
    assert_close(
        dw,
        sum(dy * c / sqrt(mean(c * c, axis: 1, keepdims: true)), axis: 0),
        rtol: 1e-4,
        atol: 1e-4,
    );
    assert_close(db, sum(dy, axis: 0), rtol: 1e-4, atol: 1e-4);
}

test "layernorm_backward" for (m, n) in [(1, 1024), (7, 1000), (9, 77)] {
    for T in [f16, bf16, f32] {
        let x = cast(randn(T, [m, n], seed: 1) + 1.0, T);
        let w = randn(T, [n], seed: 2);
        let dy = randn(T, [m, n], seed: 3);
        let dx = empty(T, [m, n]);
        let dw = zeros(f32, [n]);
        let db = zeros(f32, [n]);
        layernorm_backward<BLOCKS = 3>(x, w, dy, dx, dw, db, 1e-5);
        let c = x - mean(x, axis: 1, keepdims: true);
        let r = 1.0 / sqrt(mean(c * c, axis: 1, keepdims: true) + 1e-5);
        let hat = c * r;
        let g = dy * w;
        let want = (g - mean(g, axis: 1, keepdims: true) - hat * mean(g * hat, axis: 1, keepdims: true)) * r;
        assert_close(dx, want, ulp: if T == f32 { 64 } else { 2 });
        assert_close(dw, sum(dy * hat, axis: 0), rtol: 1e-4, atol: 1e-4);
        assert_close(db, sum(dy, axis: 0), rtol: 1e-4, atol: 1e-4);
    }
}

test "derivatives of normalizations move 16 bytes at a time" {
    let x = randn(f16, [4, 1024], seed: 1);
    let w = randn(f16, [1024], seed: 2);
    let y = empty(f16, [4, 1024]);
    let dw = zeros(f32, [1024]);
    let db = zeros(f32, [1024]);
    rmsnorm_backward(x, w, x, y, dw, 1e-5);
    assert(bytes_per_access("x") == 16 && bytes_per_access("dy") == 16 && bytes_per_access("dx") == 16);
    assert(spills() == 0);
    layernorm_backward(x, w, x, y, dw, db, 1e-5);
    assert(bytes_per_access("x") == 16 && bytes_per_access("dy") == 16 && bytes_per_access("dx") == 16);
    assert(spills() == 0);
}

bench "norm_backward 8192 × 8192" {
    let x = randn(f16, [8192, 8192]);
    let w = randn(f16, [8192]);
    let dx = empty(f16, [8192, 8192]);
    let dw = zeros(f32, [8192]);
    let db = zeros(f32, [8192]);
    measure bytes 3 * 2 * 8192 * 8192 { rmsnorm_backward<BN = 8192>(x, w, x, dx, dw, 1e-5) }
    measure bytes 3 * 2 * 8192 * 8192 { layernorm_backward<BN = 8192>(x, w, x, dx, dw, db, 1e-5) }
}

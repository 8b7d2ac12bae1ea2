//! Matrix times vector.

/// y[m] = a[m, k] · x[k]. A block takes `BM` rows and walks K in steps of `BK`.
///
/// ```hx
/// let (a, x) = (randn(f16, [64, 1024]), randn(f16, [1024]));
/// let y = empty(f16, [64]);
/// gemv(a, x, y);
/// assert_close(y, a @ x, ulp: 2);
/// ```
kernel gemv<BM = 8, BK = 1024, T: type = f16>(a: T[m, k], x: T[k], y: mut T[m])
    grid [cdiv(m, BM)]
    threads 128
{
    let [bm] = block_idx;
    let rows = tile(a, [BM, BK])[.., .., bm, ..];
    let parts = tile(x, [BK]);
    let acc = register_tensor(f32, [BM, BK]);
    fill(acc, 0.0);
    for i in 0..cdiv(k, BK) {
        let ra = cast(load(rows[.., .., i]), f32);
        let rx = cast(load(parts[.., i][new, ..]), f32);
        acc = acc + ra * rx;
    }
    copy(cast(sum(acc, axis: 1), T), tile(y, [BM])[.., bm][.., new]);
}

test "gemv" for (m, k) in [(64, 1024), (10, 3000), (7, 136), (3, 77)] {
    for T in [f16, bf16, f32] {
        let a = randn(T, [m, k], seed: 1);
        let x = randn(T, [k], seed: 2);
        let y = empty(T, [m]);
        gemv(a, x, y);
        // Sums are in f32: of f32 elements, k roundings of products and sums remain.
        if T == f32 {
            assert_close(y, a @ x, rtol: 1e-5, atol: 1e-4);
        } else {
            assert_close(y, a @ x, ulp: 2);
        }
    }
}

test "gemv reads 16 bytes at a time" {
    let a = randn(f16, [16, 2048], seed: 1);
    let x = randn(f16, [2048], seed: 2);
    let y = empty(f16, [16]);
    gemv(a, x, y);
    assert(bytes_per_access("a") == 16 && bytes_per_access("x") == 16);
    assert(spills() == 0);
}

bench "gemv 8192 × 8192" {
    let a = randn(f16, [8192, 8192]);
    let x = randn(f16, [8192]);
    let y = empty(f16, [8192]);
    measure bytes 2 * 8192 * 8192 { gemv(a, x, y) }
}

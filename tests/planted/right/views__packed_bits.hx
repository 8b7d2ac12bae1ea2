/// Weights of 2 bits in {-1, 0, 1}, four to a byte in memory as `u2`: ternary quantization w ≈ scale · t, by the mean magnitude of each row; and the product of a
/// ternary matrix with f16 rows.
kernel ternary<BM = 16, BN = 64>(w: f16[m, n], t: mut u2[m, n], scale: mut f32[m])
    where n % 8 == 0, n >= 8
    grid [cdiv(m, BM)]
    threads 64
{
    let bm = block_idx;
    let total = register_tensor(f32, [BM, BN]);
    fill(total, 0.0);
    for j in 0..cdiv(n, BN) {
        total = total + abs(cast(load(tile(w, [BM, BN])[.., .., bm, j]), f32));
    }
    let by = sum(total, axis: 1) / cast(n, f32);
    for j in 0..cdiv(n, BN) {
        let v = cast(load(tile(w, [BM, BN])[.., .., bm, j]), f32);
        let level = max(min(round(v / max(by, 1.0e-8)), 1.0), -1.0);
        copy(cast(level + 1.0, u2), tile(t, [BM, BN])[.., .., bm, j]);
    }
    copy(rearrange(by[.., 0], auto), tile(scale, [BM])[.., bm]);
}

kernel ternary_product<BM = 16, BN = 64, BK = 64>(x: f16[m, k], t: u2[n, k], scale: f32[n], y: mut f32[m, n])
    where k % 8 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [BN, BM]);
    fill(acc, 0.0);
    for j in 0..cdiv(k, BK) {
        let w = cast(load(tile(t, [BN, BK])[.., .., bn, j]), f16) - 1.0;
        gemm(acc, w, load(tile(x, [BM, BK])[.., .., bm, j]));
    }
    let by = load(tile(scale, [BN])[.., bn])[.., new];
    copy((acc * by).T, tile(y, [BM, BN])[.., .., bm, bn]);
}

test "ternary weights" for (m, n, k) in [(16, 64, 64), (20, 100, 72), (3, 8, 200)] {
    let w = randn(f16, [n, k], seed: 1);
    let x = randn(f16, [m, k], seed: 2);
    let (t, scale, y) = (empty(u2, [n, k]), empty(f32, [n]), empty(f32, [m, n]));
    ternary(w, t, scale);
    assert_close(scale, mean(abs(w), axis: 1), rtol: 1e-4);
    let level = max(min(round(w / reshape(scale, [n, 1])), 1.0), -1.0);
    assert_eq(t, cast(level + 1.0, u8));
    ternary_product(x, t, scale, y);
    assert_close(y, x @ level.T * scale, rtol: 1e-3, atol: 1e-3);
}

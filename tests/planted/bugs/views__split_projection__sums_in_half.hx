// planted: HX0612 in test
// The product is summed in f16. Shows for long rows: each step rounds the sum to 11 bits, so results differ by more than a unit
// in the last place, and sums beyond 65504 are infinite.
/// A projection whose columns are those of a gate and of a value, interleaved in groups of `G`: y = gelu(gate) · value. Each tile of the product is cut into its
/// groups, and the result has half of its columns.
kernel split_projection<BM = 32, BN = 64, BK = 32, G = 32>(x: f16[m, k], w: f16[n, k], y: mut f16[m, p])
    where n == 2 * p, p % G == 0, BN == 2 * G
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f16, [BM, BN]);
    fill(acc, 0.0);
    for j in 0..cdiv(k, BK) {
        gemm(
            acc,
            load(tile(x, [BM, BK])[.., .., bm, j]),
            load(tile(w, [BN, BK])[.., .., bn, j]),
            warps: [2, 1],
        );
    }
    let (gate, value) = split(cast(acc, f32), 2, axis: 1);
    let out = gate * 0.5 * (1.0 + erf(gate * 0.7071067811865476)) * value;
    copy(cast(out, f16), tile(y, [BM, G])[.., .., bm, bn]);
}

test "a split projection" for (m, p, k) in [(32, 32, 32), (50, 96, 72), (7, 64, 8), (16, 32, 1000)] {
    let (x, w) = (randn(f16, [m, k], seed: 1), randn(f16, [2 * p, k], seed: 2));
    let y = empty(f16, [m, p]);
    split_projection(x, w, y);
    let all = reshape(x @ w.T, [m, p / 32, 2, 32]);
    let (gate, value) = (reshape(all[.., .., 0], [m, p]), reshape(all[.., .., 1], [m, p]));
    assert_close(y, gate * 0.5 * (1.0 + erf(gate * 0.7071067811865476)) * value, ulp: 8, atol: 1e-3);
}

// planted: HX0612 in test
// The gate is rounded to f16 and the product is made in f16 before it is widened. Shows on data whose weighted rows exceed 65504
// or need more than 11 bits: results differ by a thousandth, or are infinite.
/// Brings the rows of experts back to their tokens: y[token_of[i]] += gate[i] · x[i], in blocks of rows and columns. A token has several rows, in any
/// blocks. Rows of no token have a negative number. `y` is zeros before the launch.
kernel combined_experts<BM = 32, BN = 64>(
    x: f16[rows, n],
    token_of: i32[rows],
    gate: f32[rows],
    y: mut f32[t, n],
)
    grid [cdiv(rows, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let v = load(tile(x, [BM, BN])[.., .., bm, bn]);
    let weight = load(tile(gate, [BM])[.., bm])[.., new];
    let token = load(tile(token_of, [BM], pad: -1)[.., bm][.., new]);
    let column = index(v[0..1, ..], 1) + bn * BN;
    atomic_add(scatter(y, token, column), cast(v * cast(weight, f16), f32));
}

test "rows come back" for (rows, t, n) in [(64, 40, 64), (100, 20, 72), (7, 3, 200)] {
    let (x, gate) = (randn(f16, [rows, n], seed: 1), uniform(f32, [rows], seed: 2));
    let token_of = uniform(i32, [rows], seed: 3, low: -1, high: t);
    let y = zeros(f32, [t, n]);
    combined_experts(x, token_of, gate, y);
    let wanted = zeros(f64, [t, n]);
    for i in 0..rows {
        if token_of[i] >= 0 {
            wanted[token_of[i]] = wanted[token_of[i]] + gate[i] * x[i];
        }
    }
    assert_close(y, wanted, rtol: 1e-4, atol: 1e-4);
}

//! One step of a long short-term memory: both products and the gates in one kernel.

/// With the gates i, f, g, o = x · w[0..4]ᵀ + h · u[0..4]ᵀ + bias[0..4]: c1 = sigmoid(f) · c + sigmoid(i) · tanh(g) and
/// h1 = sigmoid(o) · tanh(c1). A block computes `BM × BN` elements of the state.
kernel lstm_cell<BM = 64, BN = 32, BK = 32, T: type = f16>(
    x: T[m, k],
    h: T[m, n],
    c: f32[m, n],
    w: T[4, n, k],
    u: T[4, n, n],
    bias: T[4, n],
    h1: mut T[m, n],
    c1: mut f32[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sx = shared_tensor(T, [BM, BK, 2]);
    let sw = shared_tensor(T, [BN, BK, 4, 2]);
    let ai = register_tensor(f32, [BM, BN]);
    let af = register_tensor(f32, [BM, BN]);
    let ag = register_tensor(f32, [BM, BN]);
    let ao = register_tensor(f32, [BM, BN]);
    fill(ai, 0.0);
    fill(af, 0.0);
    fill(ag, 0.0);
    fill(ao, 0.0);
    let inner = cdiv(k, BK);
    let steps = inner + cdiv(n, BK);
    for s in 0..steps + 1 {
        // The copies of a step run while the one before is multiplied.
        if s < inner {
            copy_async(tile(x, [BM, BK])[.., .., bm, s], sx[.., .., s % 2]);
            #[unroll]
            for gate in 0..4 {
                copy_async(tile(w[gate], [BN, BK])[.., .., bn, s], sw[.., .., gate, s % 2]);
            }
        } else {
            if s < steps {
                copy_async(tile(h, [BM, BK])[.., .., bm, s - inner], sx[.., .., s % 2]);
                #[unroll]
                for gate in 0..4 {
                    copy_async(tile(u[gate], [BN, BK])[.., .., bn, s - inner], sw[.., .., gate, s % 2]);
                }
            }
        }
        commit();
        if s > 0 {
            wait(1);
            sync();
            let ra = register_tensor(T, [BM, BK]);
            copy(sx[.., .., (s + 1) % 2], ra);
            gemm(ai, ra, sw[.., .., 0, (s + 1) % 2], warps: [4, 1]);
            gemm(af, ra, sw[.., .., 1, (s + 1) % 2], warps: [4, 1]);
            gemm(ag, ra, sw[.., .., 2, (s + 1) % 2], warps: [4, 1]);
            gemm(ao, ra, sw[.., .., 3, (s + 1) % 2], warps: [4, 1]);
            sync();
        }
    }
    wait(0);
    let gates = tile(bias[.., new, ..], [1, 1, BN]);
    let gi = sigmoid(ai + cast(load(gates[0, .., .., 0, 0, bn]), f32));
    let gf = sigmoid(af + cast(load(gates[0, .., .., 1, 0, bn]), f32));
    let gg = tanh(ag + cast(load(gates[0, .., .., 2, 0, bn]), f32));
    let go = sigmoid(ao + cast(load(gates[0, .., .., 3, 0, bn]), f32));
    let next = gf * load(tile(c, [BM, BN])[.., .., bm, bn]) + gi * gg;
    copy(next, tile(c1, [BM, BN])[.., .., bm, bn]);
    copy(cast(go * tanh(next), T), tile(h1, [BM, BN])[.., .., bm, bn]);
}

test "lstm_cell" for (m, n, k) in [(64, 64, 64), (40, 72, 56), (5, 40, 24)] {
    for T in [f16, bf16] {
        let x = randn(T, [m, k], seed: 1);
        let h = uniform(T, [m, n], seed: 2, low: -1.0, high: 1.0);
        let c = randn(f32, [m, n], seed: 3);
        let w = cast(randn(T, [4, n, k], seed: 4) * 0.2, T);
        let u = cast(randn(T, [4, n, n], seed: 5) * 0.2, T);
        let bias = randn(T, [4, n], seed: 6);
        let h1 = empty(T, [m, n]);
        let c1 = empty(f32, [m, n]);
        lstm_cell(x, h, c, w, u, bias, h1, c1);
        let i = 1.0 / (1.0 + exp(-(x @ w[0].T + h @ u[0].T + bias[0])));
        let f = 1.0 / (1.0 + exp(-(x @ w[1].T + h @ u[1].T + bias[1])));
        let g = tanh(x @ w[2].T + h @ u[2].T + bias[2]);
        let o = 1.0 / (1.0 + exp(-(x @ w[3].T + h @ u[3].T + bias[3])));
        let next = f * c + i * g;
        assert_close(c1, next, rtol: 1e-4, atol: 1e-4);
        assert_close(h1, o * tanh(next), ulp: 4);
    }
}

bench "lstm_cell 4096 × 1024" {
    let x = randn(f16, [4096, 1024]);
    let c = randn(f32, [4096, 1024]);
    let w = uniform(f16, [4, 1024, 1024], low: -0.06, high: 0.06);
    let bias = randn(f16, [4, 1024]);
    let h1 = empty(f16, [4096, 1024]);
    let c1 = empty(f32, [4096, 1024]);
    measure flops 2 * 4096 * 8192 * 1024 { lstm_cell(x, x, c, w, w, bias, h1, c1) }
}

/// A causal, dilated convolution along time with a gate (WaveNet): z = tanh(f) · sigmoid(g), where f and g are sums over `K` taps, `D` steps apart, of weights
/// times x[t - k · D, channels]; before the first step are zeros.
kernel dilated_convolution<BT = 64, BO = 32, C = 32, K = 2, D = 4>(
    x: f16[t, C],
    filters: f16[K, o, C],
    gates: f16[K, o, C],
    z: mut f16[t, o],
)
    grid [cdiv(t, BT), cdiv(o, BO)]
    threads 128
{
    let [bt, bo] = block_idx;
    let (f, g) = (register_tensor(f32, [BT, BO]), register_tensor(f32, [BT, BO]));
    fill(f, 0.0);
    fill(g, 0.0);
    #[unroll]
    for tap in 0..K {
        let part = load(global_view(x[bt * BT - tap * D.., ..], (BT, C) : (C, 1)));
        gemm(f, part, load(tile(filters[tap], [BO, C])[.., .., bo, 0]), warps: [4, 1]);
        gemm(g, part, load(tile(gates[tap], [BO, C])[.., .., bo, 0]), warps: [4, 1]);
    }
    copy(cast(tanh(f) * sigmoid(g), f16), tile(z, [BT, BO])[.., .., bt, bo]);
}

test "a gated convolution" for (t, o) in [(64, 32), (100, 40), (3, 8), (200, 64)] {
    let x = cast(randn(f32, [t, 32], seed: 1) * 0.3, f16);
    let (filters, gates) = (randn(f16, [2, o, 32], seed: 2), randn(f16, [2, o, 32], seed: 3));
    let z = empty(f16, [t, o]);
    dilated_convolution(x, filters, gates, z);
    let p = zeros(f64, [t + 4, 32]);
    p[4..] = x;
    let f = p[4..] @ filters[0].T + p[..t] @ filters[1].T;
    let g = p[4..] @ gates[0].T + p[..t] @ gates[1].T;
    assert_close(z, tanh(f) / (1.0 + exp(-g)), rtol: 5e-3, atol: 2e-3);
}

//! Mamba's selective scan: h[l] = exp(dt · A) · h[l - 1] + dt · B · u, y = C · h + D · u. Chunks are scanned in registers, and the state
//! is carried from chunk to chunk.

/// y[batch, d, l] over `N` states for each channel; a block takes `BD` channels, `BL` steps at a time.
kernel selective_scan<BD = 16, N = 16, BL = 32, T: type = bf16>(
    u: T[b, d, l],
    dt: T[b, d, l],
    a: f32[d, N],
    bb: T[b, N, l],
    c: T[b, N, l],
    skip: f32[d],
    y: mut T[b, d, l],
)
    grid [cdiv(d, BD), b]
    threads BD * BL / 4
{
    let [bd, batch] = block_idx;
    let ra = register_tensor(f32, [BD, N, 1]);
    let rd = register_tensor(f32, [BD, 1]);
    copy(tile(a, [BD, N])[.., .., bd, 0][.., .., new], ra);
    copy(tile(skip, [BD])[.., bd][.., new], rd);
    let state = register_tensor(f32, [BD, N, 1]);
    fill(state, 0.0);
    for i in 0..cdiv(l, BL) {
        // Each thread takes 4 steps with all states: twice as many would not fit its registers.
        let part = register_tensor(T, [BD, BL], layout: ((BL / 4, BD), 4) : ((4 * BD, 1), BD));
        copy(tile(u[batch], [BD, BL])[.., .., bd, i], part);
        let ru = cast(part, f32);
        let rdt = cast(load(tile(dt[batch], [BD, BL])[.., .., bd, i]), f32);
        let rb = cast(load(tile(bb[batch], [N, BL])[.., .., 0, i]), f32);
        let rc = cast(load(tile(c[batch], [N, BL])[.., .., 0, i]), f32);
        let decay = exp(rdt[.., new, ..] * ra);
        let input = rdt[.., new, ..] * rb[new, .., ..] * ru[.., new, ..];
        let (p, h) = scan((decay, input), axis: 2, op: |(p0, h0), (p1, h1)| (p0 * p1, h0 * p1 + h1));
        let hidden = h + p * state;
        state = hidden[.., .., BL - 1..];
        let out = sum(hidden * rc[new, .., ..], axis: 1)[.., 0, ..] + rd * ru;
        copy(cast(out, T), tile(y[batch], [BD, BL])[.., .., bd, i]);
    }
}

test "selective_scan" for (b, d, l) in [(1, 16, 32), (2, 20, 75), (1, 3, 40)] {
    for T in [bf16, f16, f32] {
        let u = randn(T, [b, d, l], seed: 1);
        let dt = uniform(T, [b, d, l], seed: 2, low: 0.01, high: 0.5);
        let a = uniform(f32, [d, 16], seed: 3, low: -2.0, high: -0.1);
        let bb = randn(T, [b, 16, l], seed: 4);
        let c = randn(T, [b, 16, l], seed: 5);
        let skip = randn(f32, [d], seed: 6);
        let y = empty(T, [b, d, l]);
        selective_scan(u, dt, a, bb, c, skip, y);
        for i in 0..b {
            let h = zeros(f64, [d, 16]);
            for j in 0..l {
                let step = dt[i, .., j..j + 1];
                h = exp(step * a) * h + step * bb[i, .., j] * u[i, .., j..j + 1];
                let want = sum(h * c[i, .., j], axis: 1) + skip * u[i, .., j];
                let bound = if T == bf16 { 1e-2 } else { if T == f16 { 2e-3 } else { 1e-4 } };
                assert_close(y[i, .., j], want, rtol: bound, atol: bound);
            }
        }
    }
}

test "selective_scan does not spill" {
    let u = randn(bf16, [1, 16, 64], seed: 1);
    let a = uniform(f32, [16, 16], seed: 3, low: -2.0, high: -0.1);
    let bb = randn(bf16, [1, 16, 64], seed: 4);
    let skip = randn(f32, [16], seed: 6);
    let y = empty(bf16, [1, 16, 64]);
    selective_scan(u, u, a, bb, bb, skip, y);
    assert(bytes_per_access("u") == 8 && bytes_per_access("y") == 8);
    assert(spills() == 0);
}

bench "selective_scan 8 × 2048 × 2048" {
    let u = randn(bf16, [8, 2048, 2048]);
    let dt = uniform(bf16, [8, 2048, 2048], low: 0.01, high: 0.5);
    let a = uniform(f32, [2048, 16], low: -2.0, high: -0.1);
    let bb = randn(bf16, [8, 16, 2048]);
    let skip = randn(f32, [2048]);
    let y = empty(bf16, [8, 2048, 2048]);
    measure bytes 3 * 2 * 8 * 2048 * 2048 { selective_scan(u, dt, a, bb, bb, skip, y) }
}

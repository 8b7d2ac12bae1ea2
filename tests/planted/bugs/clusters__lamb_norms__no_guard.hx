// planted: HX0612 in test
// The quotient of the norms is taken without looking for zeros. Shows on a layer whose parameters or updates are all 0: the trust
// ratio is 0 (the layer never moves) or, if the updates are 0, |p| / 0 · 0 is NaN and destroys the layer.
/// The layer-wise step of LAMB: p -= rate · |p| / |u| · u for each row (a layer) of parameters and updates. `C` blocks share a layer, and sum the two
/// squared norms over the cluster at once. A layer with the norm 0 takes the plain step.
kernel lamb_norms<B = 256, C = 4>(p: mut f32[layers, n], u: f32[layers, n], rate: f32)
    grid [C, layers]
    cluster [C, 1]
    threads 64
{
    let [rank, layer] = block_idx;
    let tiles = cdiv(n, B);
    let rounds = cdiv(tiles - rank, C);
    let norms = register_tensor(f32, [2]);
    fill(norms, 0.0);
    for i in 0..rounds {
        let v = load(tile(p[layer], [B])[.., rank + i * C]);
        let d = load(tile(u[layer], [B])[.., rank + i * C]);
        let (a, b) = (sum(v * v, axis: 0), sum(d * d, axis: 0));
        norms = norms + where(index(norms, 0) == 0, a, b);
    }
    let all = sqrt(sum(norms, cluster: 0));
    let (size, step) = (all[0..1], all[1..2]);
    let trust = size / step;
    sync();
    for i in 0..rounds {
        let v = load(tile(p[layer], [B])[.., rank + i * C]);
        let d = load(tile(u[layer], [B])[.., rank + i * C]);
        sync();
        copy(v - d * trust * rate, tile(p[layer], [B])[.., rank + i * C]);
    }
}

test "trust ratios" for n in [1024, 3000, 100, 1] {
    let (p, u) = (randn(f32, [3, n], seed: 1), randn(f32, [3, n], seed: 2));
    p[1] = 0.0;
    let old = p.copy();
    lamb_norms(p, u, 0.1);
    let (size, step) = (
        sqrt(sum(old * old, axis: 1, keepdims: true)),
        sqrt(sum(u * u, axis: 1, keepdims: true)),
    );
    let trust = where(size > 0.0, size / step, 1.0);
    assert_close(p, old - 0.1 * trust * u, rtol: 1e-4, atol: 1e-5);
}

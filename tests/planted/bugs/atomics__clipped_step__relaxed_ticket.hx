// planted: HX0618 in test
// The ticket is drawn without an order. Shows with two blocks or more: the last block may read parts that are not visible yet.
/// A step of gradient descent with the gradient clipped to a norm, in two launches. The first leaves the squared norm in `total`: each block its part, the
/// last one the sum, in order. The second scales. `done` is 0 before and after the first.
kernel squared_norm<B = 512, P = 8>(g: f32[n], parts: mut f32[P], total: mut f32[1], done: mut i32[1])
    grid [min(P, cdiv(n, B))]
    threads 64
{
    let acc = register_tensor(f32, [B]);
    fill(acc, 0.0);
    for i in 0..cdiv(cdiv(n, B) - block_idx, grid_dim) {
        let v = load(tile(g, [B])[.., block_idx + i * grid_dim]);
        acc = acc + v * v;
    }
    copy(sum(acc, axis: 0), tile(parts, [1])[.., block_idx]);
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    let ticket = scalar(atomic_add(done, one));
    if ticket == grid_dim - 1 {
        let all = load(parts);
        copy(sum(where(index(all, 0) < grid_dim, all, 0.0), axis: 0), total);
        atomic_store(done, one * 0);
    }
}

kernel clipped<B = 256>(g: f32[n], total: f32[1], p: mut f32[n], limit: f32, rate: f32)
    grid [cdiv(n, B)]
    threads 64
{
    let norm = sqrt(total[0]);
    let by = rate * min(1.0, limit / max(norm, 1.0e-12));
    let v = load(tile(p, [B])[.., block_idx]);
    copy(v - load(tile(g, [B])[.., block_idx]) * by, tile(p, [B])[.., block_idx]);
}

test "clipped gradients" for (n, size) in [(512, 1.0), (1000, 0.001), (9000, 3.0), (1, 1.0)] {
    let g = cast(randn(f32, [n], seed: 1) * size, f32);
    let p = randn(f32, [n], seed: 2);
    let old = p.copy();
    let (parts, total, done) = (full(f32, [8], nan), empty(f32, [1]), zeros(i32, [1]));
    for scale in [3.0, 1.0] {
        let now = cast(g * scale, f32);
        squared_norm(now, parts, total, done);
        assert_close(total[0], sum(now * now), rtol: 1e-4);
    }
    clipped(g, total, p, 0.5, 0.1);
    assert_close(p, old - g * 0.1 * min(1.0, 0.5 / sqrt(sum(g * g))), rtol: 1e-4, atol: 1e-6);
}

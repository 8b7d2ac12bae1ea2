// planted: HX0401 in check
// The stage is given back before the old parameters are loaded from it. Shows in groups with three tiles or more: the producer
// overwrites the stage first, and parameters of another tile are updated.
/// A step of AdamW: parameters, moments and gradients come through one ring; two groups take the tiles alternately and store the parameters
/// and moments in boxes, from slots of their own.
kernel adam_in_turns<B = 256, S = 4>(
    g: f32[n],
    m: mut f32[n],
    v: mut f32[n],
    m0: f32[n],
    v0: f32[n],
    p0: f32[n],
    p: mut f32[n],
    rate: f32,
    decay: f32,
    fix1: f32,
    fix2: f32,
)
    where n % 4 == 0
    grid [min(2, cdiv(n, B))]
{
    let rounds = cdiv(cdiv(n, B) - block_idx, grid_dim);
    let stages = shared_tensor(f32, [4, B, S]);
    let pipe = pipeline(S, readers: 1);
    warp_groups {
        producer {
            for i in 0..rounds {
                let t = block_idx + i * grid_dim;
                let s = pipe.acquire();
                copy_async(tile(g, [B])[.., t], stages[0, .., s], signal: pipe);
                copy_async(tile(m0, [B])[.., t], stages[1, .., s], signal: pipe);
                copy_async(tile(v0, [B])[.., t], stages[2, .., s], signal: pipe);
                copy_async(tile(p0, [B])[.., t], stages[3, .., s], signal: pipe);
            }
        }
        consumer each 2 (k) {
            let slots = shared_tensor(f32, [3, B]);
            pipe.skip(k);
            for i in 0..cdiv(rounds - k, 2) {
                let t = block_idx + (2 * i + k) * grid_dim;
                let s = pipe.wait();
                let grad = load(stages[0, .., s]);
                let first = load(stages[1, .., s]) * 0.9 + grad * 0.1;
                let second = load(stages[2, .., s]) * 0.999 + grad * grad * 0.001;
                pipe.release();
                let old = load(stages[3, .., s]);
                pipe.skip(1);
                let next = old - rate * (first * fix1 / (sqrt(second * fix2) + 1.0e-8) + decay * old);
                wait_stores(0);
                sync();
                copy(first, slots[0, ..]);
                copy(second, slots[1, ..]);
                copy(next, slots[2, ..]);
                sync();
                copy_async(slots[0, ..], tile(m, [B])[.., t]);
                copy_async(slots[1, ..], tile(v, [B])[.., t]);
                copy_async(slots[2, ..], tile(p, [B])[.., t]);
            }
        }
    }
}

test "a step of AdamW" for n in [256, 100, 1024, 3000, 4] {
    let (g, m0) = (randn(f32, [n], seed: 1), randn(f32, [n], seed: 2));
    let (v0, p0) = (uniform(f32, [n], seed: 3, low: 0.1, high: 1.0), randn(f32, [n], seed: 4));
    let (m, v, p) = (empty(f32, [n]), empty(f32, [n]), empty(f32, [n]));
    adam_in_turns(g, m, v, m0, v0, p0, p, 0.01, 0.1, 1.5, 2.5);
    let first = m0 * 0.9 + g * 0.1;
    let second = v0 * 0.999 + g * g * 0.001;
    assert_close(m, first, rtol: 1e-5, atol: 1e-6);
    assert_close(v, second, rtol: 1e-5, atol: 1e-6);
    let wanted = p0 - 0.01 * (first * 1.5 / (sqrt(second * 2.5) + 1e-8) + 0.1 * p0);
    assert_close(p, wanted, rtol: 1e-5, atol: 1e-6);
}

// planted: HX0407 in check
// The consumer never comes to the barrier.
kernel squared(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [256]);
    let both = barrier();
    warp_groups {
        producer {
            for i in 0..cdiv(m, 256) {
                copy(load(tile(x, [256])[.., i]), s);
                both.sync();
                both.sync();
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                let v = load(s);
                copy(v * v, tile(y, [256])[.., i]);
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [2000], seed: 1);
    let y = empty(f32, [2000]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

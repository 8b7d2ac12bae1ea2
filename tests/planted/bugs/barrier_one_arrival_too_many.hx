// planted: HX0407 in check
// The arrival of the last round is never met: the producer waits in all rounds but the first.
kernel squared(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [256]);
    let (full, free) = (barrier(), barrier());
    warp_groups {
        producer {
            for i in 0..cdiv(m, 256) {
                let v = load(tile(x, [256])[.., i]);
                if i > 0 {
                    free.sync();
                }
                copy(v, s);
                full.arrive();
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                full.sync();
                let v = load(s);
                free.arrive();
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

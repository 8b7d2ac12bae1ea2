// planted: HX0404 in check
// The producer comes to the barrier twice in round 200.
kernel squared(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [256]);
    let (full, free) = (barrier(), barrier());
    warp_groups {
        producer {
            for i in 0..cdiv(m, 256) {
                copy(load(tile(x, [256])[.., i]), s);
                full.sync();
                free.sync();
                if i == 200 {
                    full.sync();
                }
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                full.sync();
                let v = load(s);
                copy(v * v, tile(y, [256])[.., i]);
                free.sync();
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [52000], seed: 1);
    let y = empty(f32, [52000]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

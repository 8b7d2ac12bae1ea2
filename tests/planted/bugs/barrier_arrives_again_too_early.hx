// planted: HX0413 in check
// The producer arrives for the next round before the consumer has passed the barrier. The stages are its own, so nothing races.
kernel squared(x: f32[m], y: mut f32[m])
    where m <= 1024
    grid [1]
{
    let s = shared_tensor(f32, [256, 4]);
    let full = barrier();
    warp_groups {
        producer {
            for i in 0..4 {
                copy(load(tile(x, [256])[.., i]), s[.., i]);
                full.arrive();
            }
        }
        consumer {
            for i in 0..4 {
                full.sync();
                let v = load(s[.., i]);
                copy(v * v, tile(y, [256])[.., i]);
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [1024], seed: 1);
    let y = empty(f32, [1024]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

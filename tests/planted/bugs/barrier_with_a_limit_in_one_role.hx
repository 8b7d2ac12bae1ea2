// planted: HX0404 in check
// The producer stops after 100 tiles, and the consumer waits for all of them.
kernel squared(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [256]);
    let (full, free) = (barrier(), barrier());
    warp_groups {
        producer {
            for i in 0..min(cdiv(m, 256), 100) {
                copy(load(tile(x, [256])[.., i]), s);
                full.sync();
                free.sync();
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
    let x = randn(f32, [26624], seed: 1);
    let y = empty(f32, [26624]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

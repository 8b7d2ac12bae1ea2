// planted: HX0401 in check
// From round 77 on the consumer reads the tile after it has told the producer that it has read it.
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
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                full.sync();
                if i < 77 {
                    let v = load(s);
                    copy(v * v, tile(y, [256])[.., i]);
                }
                free.sync();
                if i >= 77 {
                    let v = load(s);
                    copy(v * v, tile(y, [256])[.., i]);
                }
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [25600], seed: 1);
    let y = empty(f32, [25600]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

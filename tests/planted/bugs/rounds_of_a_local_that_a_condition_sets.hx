// planted: HX0404 in check
// A local gives the consumer a second round at the barrier, but only for long vectors.
kernel squared(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [256]);
    let (full, free) = (barrier(), barrier());
    let more = 0;
    if m > 70000 {
        more = 1;
    }
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
                let v = load(s);
                copy(v * v, tile(y, [256])[.., i]);
                free.sync();
            }
            for _j in 0..more {
                free.sync();
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [70001], seed: 1);
    let y = empty(f32, [70001]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

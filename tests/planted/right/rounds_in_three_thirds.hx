// The three thirds of a number are that number, whatever its remainder is.
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
            for i in 0..cdiv(m, 256) / 3 + (cdiv(m, 256) + 1) / 3 + (cdiv(m, 256) + 2) / 3 {
                full.sync();
                let v = load(s);
                copy(v * v, tile(y, [256])[.., i]);
                free.sync();
            }
        }
    }
}

test "squared" for m in [0, 256, 500, 2048] {
    let x = randn(f32, [m], seed: 1);
    let y = empty(f32, [m]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

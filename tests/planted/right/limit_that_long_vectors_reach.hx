// Both roles stop after 100 tiles, in bounds of different forms, and square the others together.
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
            for i in 0..cdiv(m, 256) - max(cdiv(m, 256) - 100, 0) {
                full.sync();
                let v = load(s);
                copy(v * v, tile(y, [256])[.., i]);
                free.sync();
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [26000], seed: 1);
    let y = zeros(f32, [26000]);
    squared(x, y);
    assert_close(y[0..25600], x[0..25600] * x[0..25600], rtol: 1e-6, atol: 0.0);
}

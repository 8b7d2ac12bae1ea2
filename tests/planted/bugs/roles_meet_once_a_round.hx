// planted: HX0401 in check
// The producer overwrites the tile while the consumer still reads it: a second barrier is missing.
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
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                both.sync();
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

// planted: HX0401 in check
// Tiles from the eighth on share a slot, and the producer does not wait until it was read.
kernel squared(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [256, 8]);
    let full = barrier();
    warp_groups {
        producer {
            for i in 0..cdiv(m, 256) {
                copy(load(tile(x, [256])[.., i]), s[.., min(i, 7)]);
                full.sync();
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                full.sync();
                let v = load(s[.., min(i, 7)]);
                copy(v * v, tile(y, [256])[.., i]);
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [4096], seed: 1);
    let y = empty(f32, [4096]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

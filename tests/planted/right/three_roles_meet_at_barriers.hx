// Three roles pass a tile along: one loads, one doubles, one stores. Data decide which tiles are passed, alike for all roles.
kernel passed(x: f32[m], wanted: i32[t], y: mut f32[m])
    grid [1]
{
    let (raw, doubled) = (shared_tensor(f32, [256]), shared_tensor(f32, [256]));
    let (loaded, made, stored) = (barrier(), barrier(), barrier());
    warp_groups {
        producer {
            for i in 0..t {
                if wanted[i] > 0 {
                    copy(load(tile(x, [256])[.., i]), raw);
                    loaded.arrive();
                    stored.sync();
                }
            }
        }
        consumer {
            for i in 0..t {
                if wanted[i] > 0 {
                    loaded.sync();
                    copy(load(raw) * 2.0, doubled);
                    made.arrive();
                    stored.sync();
                }
            }
        }
        consumer each 2 (g) {
            for i in 0..t {
                if wanted[i] > 0 {
                    made.sync();
                    let half = load(tile(doubled, [128])[.., g]);
                    copy(half, tile(y, [128])[.., 2 * i + g]);
                    stored.sync();
                }
            }
        }
    }
}

test "passed" for m in [256, 1000, 2048] {
    let x = randn(f32, [m], seed: 1);
    let wanted = ones(i32, [cdiv(m, 256)]);
    let y = zeros(f32, [m]);
    passed(x, wanted, y);
    assert_close(y, x * 2.0, rtol: 1e-6, atol: 0.0);
    let none = zeros(f32, [m]);
    passed(x, zeros(i32, [cdiv(m, 256)]), none);
    assert_eq(none, x * 0.0);
}

/// y[i] = the sum of the last `W` tiles of each row up to tile i, kept in a ring of copies by threads (`commit`, `wait`): stages are filled
/// `STAGES - W` tiles ahead, and the last `W` stay.
kernel moving_sum<B = 128, W = 3, STAGES = 6>(x: f16[m, n], y: mut f32[m, n])
    where n % 8 == 0
    grid [m]
    threads 64
{
    let row = block_idx;
    let s = shared_tensor(f16, [B, STAGES]);
    for i in 0..STAGES - W {
        copy_async(tile(x[row], [B])[.., i], s[.., i]);
        commit();
    }
    for i in 0..cdiv(n, B) {
        wait(STAGES - W - 1);
        sync();
        let next = i + STAGES - W;
        copy_async(tile(x[row], [B])[.., next], s[.., next % STAGES]);
        commit();
        let total = cast(load(s[.., i % STAGES]), f32);
        for d in 1..W {
            if i >= d {
                total = total + cast(load(s[.., (i - d) % STAGES]), f32);
            }
        }
        copy(total, tile(y[row], [B])[.., i]);
    }
    wait(0);
}

test "sums of the last tiles" for (m, n) in [(2, 128), (3, 1000), (1, 2048), (4, 8)] {
    let x = randn(f16, [m, n], seed: 1);
    let y = empty(f32, [m, n]);
    moving_sum(x, y);
    let expected = zeros(f64, [m, n]);
    for d in 0..3 {
        if d * 128 < n {
            expected[.., d * 128..] = expected[.., d * 128..] + x[.., ..n - d * 128];
        }
    }
    assert_close(y, expected, rtol: 1e-5, atol: 1e-5);
}

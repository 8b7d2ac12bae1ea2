/// A running, decaying sum over the tiles of each column block: y[i] = decay · y[i - 1] + x[i] (an exponential moving average), where two groups
/// take the tiles alternately and hand the state on through shared memory, in turns.
kernel ordered_sums<B = 256, S = 4>(x: f32[t, n], y: mut f32[t, n], decay: f32)
    where n % 4 == 0
    grid [cdiv(n, B)]
{
    let stages = shared_tensor(f32, [B, S]);
    let state = shared_tensor(f32, [B]);
    let (pipe, order, column) = (pipeline(S, readers: 1), turns(), block_idx);
    fill(state, 0.0);
    sync();
    warp_groups {
        producer {
            for i in 0..t {
                let s = pipe.acquire();
                copy_async(tile(x[i], [B])[.., column], stages[.., s], signal: pipe);
            }
        }
        consumer each 2 (g) {
            pipe.skip(g);
            for i in 0..cdiv(t - g, 2) {
                let s = pipe.wait();
                let v = load(stages[.., s]);
                pipe.release();
                pipe.skip(1);
                order.take();
                let now = load(state) * decay + v;
                copy(now, state);
                order.pass();
                copy(now, tile(y[2 * i + g], [B])[.., column]);
            }
        }
    }
}

test "a moving average" for (t, n) in [(1, 256), (2, 100), (7, 300), (12, 512)] {
    let x = randn(f32, [t, n], seed: 1);
    let y = empty(f32, [t, n]);
    ordered_sums(x, y, 0.9);
    let state = zeros(f64, [n]);
    for i in 0..t {
        state = state * 0.9 + x[i];
        assert_close(y[i], state, rtol: 1e-5, atol: 1e-5);
    }
}

// planted: HX0612 in test
// The value carried to the chunk before is that of the last step and not of the first step of this chunk. Shows for n > 128:
// returns of all chunks but the last one are wrong.
/// Discounted returns with ends of episodes: y[t] = r[t] + gamma · y[t + 1], and y[t] = r[t] where an episode ends at t. A row is scanned backwards, a
/// chunk at a time from its end; what is past the end of a row adds nothing.
kernel discounted_returns<B = 128>(r: f32[m, n], done: bool[m, n], y: mut f32[m, n], gamma: f32)
    grid [m]
    threads 32
{
    let (row, chunks) = (block_idx, cdiv(n, B));
    let after = register_tensor(f32, [1]);
    fill(after, 0.0);
    for c in 0..chunks {
        let first = (chunks - 1 - c) * B;
        let blank = register_tensor(i32, [B]);
        fill(blank, 0);
        let at = (B - 1 - index(blank, 0)) + cast(first, i32);
        let reward = load(gather(r[row], at));
        let ends = load(gather(done[row], at));
        let factor = where(ends, cast(0.0, f32), gamma);
        let (decay, sums) = scan((factor, reward), axis: 0, op: |(a0, b0), (a1, b1)| (a0 * a1, b0 * a1 + b1));
        let whole = sums + decay * after;
        copy(whole, scatter(y[row], at));
        after = whole[0..1];
    }
}

test "returns of episodes" for (m, n) in [(1, 128), (3, 300), (2, 1000), (4, 5)] {
    let r = randn(f32, [m, n], seed: 1);
    let done = uniform(i32, [m, n], seed: 2, low: 0, high: 20) == 0;
    let y = empty(f32, [m, n]);
    discounted_returns(r, done, y, 0.95);
    let after = zeros(f64, [m]);
    for i in 0..n {
        let t = n - 1 - i;
        after = r[.., t] + where(done[.., t], 0.0, after * 0.95);
        assert_close(y[.., t], after, rtol: 1e-4, atol: 1e-4);
    }
}

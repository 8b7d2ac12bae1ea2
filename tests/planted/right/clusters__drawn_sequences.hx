/// Mean pooling of packed sequences of any length: blocks draw the sequences from a counter, because their lengths differ. A producer copies
/// the rows in tiles, and two consumers, each a group, sum half of the columns each. An empty sequence has the mean 0.
kernel drawn_sequences<BM = 32, D = 128, S = 3>(
    x: f32[m, D],
    starts: i32[e],
    y: mut f32[c, D],
    next: mut i32[1],
)
    where e == c + 1
    grid [min(multiprocessors, c)]
{
    let stages = shared_tensor(f32, [BM, D, S]);
    let (pipe, work) = (pipeline(S), counter(next, c));
    warp_groups {
        producer registers 56 {
            for t in work {
                let (first, end) = (max(0, starts[t]), starts[t + 1]);
                for i in 0..cdiv(end - first, BM) {
                    let s = pipe.acquire();
                    copy_async(tile(x[first..end], [BM, D])[.., .., i, 0], stages[.., .., s], signal: pipe);
                }
            }
        }
        consumer each 2 (g) {
            for t in work {
                let (first, end) = (max(0, starts[t]), starts[t + 1]);
                let total = register_tensor(f32, [BM, D / 2]);
                fill(total, 0.0);
                for _ in 0..cdiv(end - first, BM) {
                    let s = pipe.wait();
                    total = total + load(stages[.., g * (D / 2)..(g + 1) * (D / 2), s]);
                    pipe.release();
                }
                let mean = sum(total, axis: 0)[0, ..] / cast(max(end - first, 1), f32);
                copy(mean, tile(y[t], [D / 2])[.., g]);
            }
        }
    }
}

test "means of sequences" for seed in [1, 2, 3] {
    let lengths = uniform(i32, [9], seed: seed, low: 0, high: 100);
    lengths[3] = 0;
    let starts = zeros(i32, [10]);
    for i in 0..9 {
        starts[i + 1] = starts[i] + lengths[i];
    }
    let m = int(starts[9]);
    let x = randn(f32, [m, 128], seed: 10 + seed);
    let (y, next) = (empty(f32, [9, 128]), zeros(i32, [1]));
    drawn_sequences(x, starts, y, next);
    assert_eq(next[0], 0);
    for i in 0..9 {
        let (first, end) = (int(starts[i]), int(starts[i + 1]));
        let wanted = if first == end { zeros(f64, [128]) } else { mean(x[first..end], axis: 0) };
        assert_close(y[i], wanted, rtol: 1e-4, atol: 1e-5);
    }
}

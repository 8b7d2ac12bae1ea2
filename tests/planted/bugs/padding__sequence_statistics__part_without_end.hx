// planted: HX0612 in test
// The first pass cuts the sequence at its start only. Shows where a length is no multiple of 128: the sum, the minimum and the
// maximum have elements of the next sequence.
/// Statistics of packed sequences: mean, standard deviation, minimum and maximum of the elements `x[starts[i]..starts[i + 1]]` of each sequence, which
/// may be empty: then the mean and the deviation are 0, the minimum inf and the maximum -inf.
kernel sequence_statistics<B = 128>(x: f32[n], starts: i32[e], y: mut f32[s, 4])
    where e == s + 1
    grid [s]
    threads 32
{
    let (first, end) = (starts[block_idx], starts[block_idx + 1]);
    let count = max(end - first, 0);
    let tiles = cdiv(count, B);
    let (sums, least, most) = (
        register_tensor(f32, [B]),
        register_tensor(f32, [B]),
        register_tensor(f32, [B]),
    );
    fill(sums, 0.0);
    fill(least, inf);
    fill(most, -inf);
    for i in 0..tiles {
        let part = x[first..];
        sums = sums + load(tile(part, [B])[.., i]);
        least = min(least, load(tile(part, [B], pad: inf)[.., i]));
        most = max(most, load(tile(part, [B], pad: -inf)[.., i]));
    }
    let number = cast(max(count, 1), f32);
    let mean = sum(sums, axis: 0) / number;
    fill(sums, 0.0);
    for i in 0..tiles {
        let v = load(tile(x[first..end], [B])[.., i]);
        let d = where(index(v, 0) + i * B < count, v - mean, 0.0);
        sums = sums + d * d;
    }
    let deviation = sqrt(sum(sums, axis: 0) / number);
    copy(concat(mean, deviation, min(least, axis: 0), max(most, axis: 0), axis: 0), y[block_idx]);
}

test "statistics of sequences" for seed in [1, 2, 3] {
    let lengths = uniform(i32, [6], seed: seed, low: 0, high: 300);
    lengths[2] = 0;
    let starts = zeros(i32, [7]);
    for i in 0..6 {
        starts[i + 1] = starts[i] + lengths[i];
    }
    let x = cast(randn(f32, [int(starts[6])], seed: 7) + 3.0, f32);
    let y = empty(f32, [6, 4]);
    sequence_statistics(x, starts, y);
    for i in 0..6 {
        let part = x[int(starts[i])..int(starts[i + 1])];
        if lengths[i] == 0 {
            assert_eq(y[i], [0.0, 0.0, inf, -inf]);
        } else {
            let c = part - mean(part);
            assert_close(y[i, 0], mean(part), rtol: 1e-4);
            assert_close(y[i, 1], sqrt(mean(c * c)), rtol: 1e-4);
            assert_eq(y[i, 2], min(part));
            assert_eq(y[i, 3], max(part));
        }
    }
}

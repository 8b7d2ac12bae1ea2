// planted: HX0612 in test
// The number of chunks is floored. Shows on degrees that are no multiple of 64: the last edges have no part in the sum and get no
// weight.
/// Softmax over segments of a vector, with the segments as rows of a table of starts: graph attention, in which each node weighs its incoming edges. A block
/// takes a node; a node without edges writes nothing. Edges are read twice, in chunks of `B`.
kernel segment_softmax<B = 64>(score: f32[e], starts: i32[ends], weight: mut f32[e])
    where ends >= 1
    grid [ends - 1]
    threads 32
{
    let (first, end) = (starts[block_idx], starts[block_idx + 1]);
    let chunks = (end - first) / B;
    let (top, total) = (register_tensor(f32, [1]), register_tensor(f32, [1]));
    fill(top, -1.0e30);
    fill(total, 0.0);
    for i in 0..chunks {
        let v = load(tile(score[first..end], [B], pad: -inf)[.., i]);
        let higher = max(top, max(v, axis: 0));
        total = total * exp(top - higher) + sum(exp(v - higher), axis: 0);
        top = higher;
    }
    for i in 0..chunks {
        let v = load(tile(score[first..end], [B], pad: -inf)[.., i]);
        copy(exp(v - top) / total, tile(weight[first..end], [B])[.., i]);
    }
}

test "weights of edges" for seed in [1, 2, 3] {
    let degree = uniform(i32, [12], seed: seed, low: 0, high: 90);
    degree[4] = 0;
    let starts = zeros(i32, [13]);
    for i in 0..12 {
        starts[i + 1] = starts[i] + degree[i];
    }
    let e = int(starts[12]);
    let score = cast(randn(f32, [e], seed: 5) * 3.0 - 4.0, f32);
    let weight = full(f32, [e + 3], 7.0);
    segment_softmax(score, starts, weight[..e]);
    for i in 0..12 {
        let (first, end) = (int(starts[i]), int(starts[i + 1]));
        if end > first {
            assert_close(weight[first..end], softmax(score[first..end], axis: 0), rtol: 1e-4, atol: 1e-6);
        }
    }
    assert_eq(weight[e..], full(f32, [3], 7.0));
}

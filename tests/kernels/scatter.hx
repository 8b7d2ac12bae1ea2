//! Views that index tensors in registers pick: histograms by scattered sums.

/// hist[b] is the number of elements of `x` whose value is `b`. Values outside of `0..n` are not counted.
kernel histogram<B = 1024>(x: i32[m], hist: mut i32[n])
    grid [cdiv(m, B)]
    threads 128
{
    let bins = load(tile(x, [B], pad: -1)[.., block_idx]);
    let ones = register_tensor(i32, [B]);
    fill(ones, 1);
    atomic_add(scatter(hist, bins), ones);
}

/// What `histogram` computes.
test "a histogram counts every value once" for (m, n) in [(1024, 16), (1000, 7), (4096, 300)] {
    let x = uniform(i32, [m], seed: 1, low: -2, high: 12);
    let hist = zeros(i32, [n]);
    histogram(x, hist);
    for b in 0..n {
        assert_eq(hist[b], sum(where(x == b, 1, 0)));
    }
}

/// As `histogram`. Each block counts in shared memory first, and adds its counts to those of the others at the end.
kernel private_histogram<B = 1024, N = 256>(x: i32[m], hist: mut i32[N])
    grid [min(multiprocessors, cdiv(m, B))]
    threads 128
{
    let counts = shared_tensor(i32, [N]);
    copy(register_tensor_of_zeros(), counts);
    sync();
    let ones = register_tensor(i32, [B]);
    fill(ones, 1);
    for t in block_idx..cdiv(m, B) step grid_dim {
        atomic_add(scatter(counts, load(tile(x, [B], pad: -1)[.., t])), ones);
    }
    sync();
    atomic_add(hist, load(counts));
}

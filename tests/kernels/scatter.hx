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
    let none = register_tensor(i32, [N]);
    fill(none, 0);
    copy(none, counts);
    sync();
    let ones = register_tensor(i32, [B]);
    fill(ones, 1);
    for w in 0..cdiv(cdiv(m, B) - block_idx, grid_dim) {
        let bins = load(tile(x, [B], pad: -1)[.., block_idx + w * grid_dim]);
        atomic_add(scatter(counts, bins), ones);
    }
    sync();
    atomic_add(hist, load(counts));
}

test "counts of blocks add up" for m in [1024, 1000, 40960] {
    let x = uniform(i32, [m], seed: 1, low: -2, high: 258);
    let hist = zeros(i32, [256]);
    private_histogram(x, hist);
    for b in 0..256 {
        assert_eq(hist[b], sum(where(x == b, 1, 0)));
    }
}

/// y[i, j] = x[rows[i, j], columns[i, j]], and z gets the same elements back in their places. Indices outside of `x` give 0, and
/// write nothing.
kernel permute<M = 64, N = 32>(
    x: f16[m, n],
    rows: i32[M, N],
    columns: u8[M, N],
    y: mut f16[M, N],
    z: mut f16[m, n],
)
    grid [1]
    threads 256
{
    let (i, j) = (load(rows), load(columns));
    let t = load(gather(x, i, j));
    copy(t, y);
    copy(t, scatter(z, i, j));
}

test "elements go to where two indices say" {
    let x = randn(f16, [64, 32], seed: 1);
    let rows = zeros(i32, [64, 32]);
    let columns = zeros(u8, [64, 32]);
    for i in 0..64 {
        for j in 0..32 {
            rows[i, j] = 63 - i;
            columns[i, j] = (j * 5 + 3) % 32;
        }
    }
    rows[3, 4] = 64;
    rows[3, 5] = -1;
    columns[3, 6] = 32;
    let y = empty(f16, [64, 32]);
    let z = full(f16, [64, 32], 7.0);
    permute(x, rows, columns, y, z);
    for j in 0..32 {
        let inside = (j < 4) + (j > 6) > 0;
        assert_eq(y[3, j], where(inside, x[60, (j * 5 + 3) % 32], 0.0));
        assert_eq(z[60, (j * 5 + 3) % 32], where(inside, x[60, (j * 5 + 3) % 32], 7.0));
        assert_eq(y[9, j], x[54, (j * 5 + 3) % 32]);
        assert_eq(z[5, j], x[5, j]);
    }
}

/// Rows that a table in memory picks are written as a whole, as wide as if they were next to each other.
kernel scatter_rows<M = 32, N = 64>(x: f16[m, N], rows: i32[m], y: mut f16[t, N])
    grid [cdiv(m, M)]
    threads 64
{
    copy(load(tile(x, [M, N])[.., .., block_idx, 0]), scatter(y, tile(rows, [M])[.., block_idx]));
}

test "rows go to where a table says" {
    let x = randn(f16, [70, 64], seed: 1);
    let rows = zeros(i32, [70]);
    for i in 0..70 {
        rows[i] = (i * 11 + 5) % 71;
    }
    rows[9] = 71;
    rows[10] = -1;
    let y = zeros(f16, [71, 64]);
    scatter_rows(x, rows, y);
    for i in 0..9 {
        assert_eq(y[(i * 11 + 5) % 71], x[i]);
    }
    for i in 11..70 {
        assert_eq(y[(i * 11 + 5) % 71], x[i]);
    }
    assert_eq(sum(y[(9 * 11 + 5) % 71]), 0.0);
    assert(bytes_per_access("y") == 16);
}

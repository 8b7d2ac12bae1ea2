//! Kernels of public collections whose accesses depend on data: segments, clusters, sparse matrices, embeddings.

/// Prefix sums of each row of `x` that begin anew where `first` is true.
kernel segmented_scan<N = 1024>(x: f32[m, n], first: bool[m, n], y: mut f32[m, n])
    where n <= N
    grid [m]
    threads max(32, N / 8)
{
    let v = load(tile(x[block_idx], [N])[.., 0]);
    let f = load(tile(first[block_idx], [N])[.., 0]);
    let (_, sums) = scan((f, v), axis: 0, op: |(f0, v0), (f1, v1)| (f0 || f1, where(f1, v1, v0 + v1)));
    copy(sums, tile(y[block_idx], [N])[.., 0]);
}

test "sums of segments" for n in [256, 100] {
    let x = randn(f32, [2, n], seed: 1);
    let first = uniform(i32, [2, n], seed: 2, low: 0, high: 9) == 0;
    let (y, total) = (empty(f32, [2, n]), zeros(f64, [2]));
    segmented_scan<N = 256>(x, first, y);
    for i in 0..n {
        total = where(first[.., i], 0.0, total) + x[.., i];
        assert_close(y[.., i], total, rtol: 1e-5, atol: 1e-5);
    }
}

/// The step of k-means that assigns points: the nearest of the `k` centres of each row of `x`, the sum of the points of each centre,
/// and their number.
kernel kmeans_assign<B = 32, K = 32, D = 32>(
    x: f32[m, D],
    centres: f32[k, D],
    nearest: mut i32[m],
    sums: mut f32[k, D],
    counts: mut i32[k],
)
    where k <= K
    grid [cdiv(m, B)]
    threads 128
{
    let points = load(tile(x, [B, D])[.., .., block_idx, 0]);
    let c = load(tile(centres, [K, D])[.., .., 0, 0]);
    let products = register_tensor(f32, [B, K]);
    fill(products, 0.0);
    gemm(products, points, c);
    // |x - c|² without |x|², which is the same for all centres.
    let distances = sum(c * c, axis: 1).T - 2.0 * products;
    let best = argmin(where(index(distances, 1) < k, distances, inf), axis: 1);
    copy(best[.., 0], tile(nearest, [B])[.., block_idx]);
    let row = where(index(best, 0) + block_idx * B < m, best, -1)[.., 0];
    let rows = shared_tensor(i32, [B]);
    copy(row, rows);
    sync();
    atomic_add(scatter(sums, rows), points);
    let one = register_tensor(i32, [B]);
    fill(one, 1);
    atomic_add(scatter(counts, row), one);
}

test "points belong to the nearest centre" for (m, k) in [(128, 32), (100, 5)] {
    let (x, centres) = (randn(f32, [m, 32], seed: 1), randn(f32, [k, 32], seed: 2));
    let (nearest, sums, counts) = (empty(i32, [m]), zeros(f32, [k, 32]), zeros(i32, [k]));
    kmeans_assign(x, centres, nearest, sums, counts);
    let (expected, number) = (zeros(f64, [k, 32]), zeros(i32, [k]));
    for i in 0..m {
        let d = sum((x[i..i + 1] - centres) * (x[i..i + 1] - centres), axis: 1);
        let best = argmin(d);
        assert_eq(nearest[i], best);
        expected[best] = expected[best] + x[i];
        number[best] = number[best] + 1;
    }
    assert_close(sums, expected, rtol: 1e-5, atol: 1e-5);
    assert_eq(counts, number);
}

/// The product of a sparse matrix, compressed by rows, and a dense matrix: row `i` of `a` has `values[first[i]..first[i + 1]]` in the
/// columns that `columns` names. A block takes one row, `B` of its elements at a time.
kernel csr_times_dense<B = 32, N = 64>(
    first: i32[e],
    columns: i32[z],
    values: f32[z],
    b: f32[k, n],
    y: mut f32[m, n],
)
    where e == m + 1
    grid [m, cdiv(n, N)]
    threads 64
{
    let [row, block] = block_idx;
    let (start, end) = (first[row], first[row + 1]);
    let acc = register_tensor(f32, [1, N]);
    fill(acc, 0.0);
    for i in 0..cdiv(end - start, B) {
        let picked = tile(columns[start..end], [B], pad: -1)[.., i];
        let rows = load(tile(gather(b, picked), [B, N])[.., .., 0, block]);
        let v = load(tile(values[start..end], [B])[.., i][.., new]);
        acc = acc + sum(rows * v, axis: 0);
    }
    copy(acc[0, ..], tile(y[row], [N])[.., block]);
}

test "a sparse matrix times a dense one" for (m, k, n) in [(20, 50, 64), (7, 9, 33)] {
    let dense = where(
        uniform(i32, [m, k], seed: 1, low: 0, high: 3) == 0,
        cast(randn(f32, [m, k], seed: 2), f64),
        0.0,
    );
    dense[2] = 0.0;
    let b = randn(f32, [k, n], seed: 3);
    let z = sum(where(dense == 0.0, 0, 1));
    let (first, columns, values) = (zeros(i32, [m + 1]), zeros(i32, [z]), zeros(f32, [z]));
    let at = 0;
    for i in 0..m {
        for j in 0..k {
            if dense[i, j] != 0.0 {
                columns[at] = j;
                values[at] = dense[i, j];
                at = at + 1;
            }
        }
        first[i + 1] = at;
    }
    let y = empty(f32, [m, n]);
    csr_times_dense(first, columns, values, b, y);
    assert_close(y, dense @ b, rtol: 1e-5, atol: 1e-5);
}

/// The derivative of an embedding bag that adds rows: row `i` of `dy` is added to every row of `dw` that the bag
/// `ids[first[i]..first[i + 1]]` names.
kernel embedding_bag_backward<B = 16, D = 64>(dy: f32[m, D], first: i32[e], ids: i32[z], dw: mut f32[v, D])
    where e == m + 1
    grid [m]
    threads 64
{
    let (start, end) = (first[block_idx], first[block_idx + 1]);
    let rows = load(global_view(dy[block_idx], (B, D) : (0, 1)));
    for i in 0..cdiv(end - start, B) {
        atomic_add(scatter(dw, tile(ids[start..end], [B], pad: -1)[.., i]), rows);
    }
}

test "derivatives of embeddings add up" {
    let (dy, ids) = (randn(f32, [6, 64], seed: 1), uniform(i32, [50], seed: 2, low: 0, high: 10));
    let first = cast([0, 3, 3, 20, 41, 42, 50], i32);
    let (dw, expected) = (zeros(f32, [10, 64]), zeros(f64, [10, 64]));
    embedding_bag_backward(dy, first, ids, dw);
    for i in 0..6 {
        for j in first[i]..first[i + 1] {
            expected[ids[j]] = expected[ids[j]] + dy[i];
        }
    }
    assert_close(dw, expected, rtol: 1e-5, atol: 1e-5);
}

/// A step of a beam search: of all beams of a sentence, each continued by each of its tokens, the `k` with the largest sums of
/// logarithms. `parents` gets the beams that they continue, `tokens` the tokens that they append.
kernel beam_step<BEAMS = 4, N = 512>(
    logits: f32[s, BEAMS, n],
    before: f32[s, BEAMS],
    scores: mut f32[s, k],
    parents: mut i32[s, k],
    tokens: mut i32[s, k],
)
    where n <= N && k <= n
    grid [s]
    threads 128
{
    let x = load(tile(logits[block_idx], [BEAMS, N], pad: -inf)[.., .., 0, 0]);
    let shifted = x - max(x, axis: 1);
    let rest = shifted - log(sum(exp(shifted), axis: 1)) + load(before[block_idx])[.., new];
    let place = index(rest, 0) * N + index(rest, 1);
    for j in 0..k {
        let best = max(max(rest, axis: 1), axis: 0);
        let at = min(min(where(rest == best, place, BEAMS * N), axis: 1), axis: 0);
        copy(best[0, ..], tile(scores[block_idx], [1])[.., j]);
        copy(at[0, ..] / N, tile(parents[block_idx], [1])[.., j]);
        copy(at[0, ..] % N, tile(tokens[block_idx], [1])[.., j]);
        rest = where(place == at, -inf, rest);
    }
}

test "the best continuations of beams" for n in [512, 100] {
    let (logits, before) = (randn(f32, [2, 4, n], seed: 1), randn(f32, [2, 4], seed: 2));
    let (scores, parents, tokens) = (empty(f32, [2, 4]), empty(i32, [2, 4]), empty(i32, [2, 4]));
    beam_step(logits, before, scores, parents, tokens);
    for i in 0..2 {
        let all = reshape(log(softmax(logits[i], axis: 1)) + reshape(before[i], [4, 1]), [4 * n]).copy();
        for j in 0..4 {
            let best = argmax(all);
            assert_close(scores[i, j], all[best], rtol: 1e-5, atol: 1e-5);
            assert_eq(parents[i, j] * n + tokens[i, j], best);
            all[best] = -inf;
        }
    }
}

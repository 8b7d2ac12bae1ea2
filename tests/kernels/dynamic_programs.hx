//! Kernels whose steps follow each other in time, and kernels whose accesses follow from coordinates: Viterbi, edit distances, sampling.

/// The most likely states of a hidden Markov chain (Viterbi): `step[j, i]` is the logarithm of the probability of state `j` after state
/// `i`, `seen[b, t, j]` that of what was seen at time `t` in state `j`. A block takes one sequence.
kernel viterbi<S = 32, T = 64>(step: f32[S, S], seen: f32[b, t, S], path: mut i32[b, t], best: mut f32[b])
    where t <= T && t >= 1
    grid [b]
    threads 64
{
    let from = shared_tensor(i32, [T, S]);
    let moves = load(step);
    let now = load(seen[block_idx, 0][.., new]);
    for i in 1..t {
        let sums = moves + now.T;
        copy(argmax(sums, axis: 1)[.., 0], from[i]);
        now = max(sums, axis: 1) + load(seen[block_idx, i][.., new]);
    }
    sync();
    copy(max(now, axis: 0)[.., 0], tile(best, [1])[.., block_idx]);
    let state = argmax(now, axis: 0)[.., 0];
    copy(state, tile(path[block_idx], [1])[.., t - 1]);
    for i in 0..t - 1 {
        let time = index(state, 0) + t - 1 - i;
        state = load(gather(from, time, state));
        copy(state, tile(path[block_idx], [1])[.., t - 2 - i]);
    }
}

test "the most likely states" for t in [20, 1] {
    let (step, seen) = (randn(f32, [32, 32], seed: 1), randn(f32, [2, t, 32], seed: 2));
    let (path, best) = (empty(i32, [2, t]), empty(f32, [2]));
    viterbi(step, seen, path, best);
    for b in 0..2 {
        let now = cast(seen[b, 0], f64);
        for i in 1..t {
            now = max(step + reshape(now, [1, 32]), axis: 1) + seen[b, i];
        }
        assert_close(best[b], max(now), rtol: 1e-5);
        // The path has the sum that is the best.
        let on = arange(i32, [32]) == path[b, 0];
        let total = sum(where(on, seen[b, 0], 0.0));
        for i in 1..t {
            let next = arange(i32, [32]) == path[b, i];
            total = total + sum(where(reshape(next, [32, 1]) && reshape(on, [1, 32]), step, 0.0));
            total = total + sum(where(next, seen[b, i], 0.0));
            on = next;
        }
        assert_close(best[b], total, rtol: 1e-5);
    }
}

/// The number of insertions, deletions and replacements between two texts (Levenshtein), a diagonal at a time: element `i` of a diagonal
/// belongs to the first `i` letters of `a`.
kernel edit_distance<N = 128>(a: u8[b, m], c: u8[b, n], y: mut i32[b])
    where m < N
    grid [b]
    threads 32
{
    let s = shared_tensor(i32, [N]);
    let last = register_tensor(i32, [N]);
    fill(last, 0);
    let i = index(last, 0);
    let letters = load(gather(a[block_idx], i - 1));
    let before = last;
    for d in 1..m + n + 1 {
        copy(last, s);
        sync();
        // The neighbours for one letter less of `a`: on the last diagonal and on that before it.
        let above = load(gather(s, i - 1));
        sync();
        copy(before, s);
        sync();
        let corner = load(gather(s, i - 1));
        sync();
        let j = cast(d, i32) - i;
        let same = letters == load(gather(c[block_idx], j - 1));
        let best = min(min(above, last) + 1, corner + where(same, 0, 1));
        before = last;
        last = where(i == 0 || j == 0, cast(d, i32), best);
    }
    let end = where(i == cast(m, i32), last, 0);
    copy(sum(end, axis: 0), tile(y, [1])[.., block_idx]);
}

test "distances of texts" for (m, n) in [(13, 9), (5, 21)] {
    let a = uniform(u8, [2, m], seed: 1, low: 0, high: 4);
    let (c, y) = (uniform(u8, [2, n], seed: 2, low: 0, high: 4), empty(i32, [2]));
    edit_distance<N = 32>(a, c, y);
    for b in 0..2 {
        let d = zeros(i64, [m + 1, n + 1]);
        d[.., 0] = arange(i64, [m + 1]);
        d[0] = arange(i64, [n + 1]);
        for i in 1..m + 1 {
            for j in 1..n + 1 {
                let replaced = d[i - 1, j - 1] + if a[b, i - 1] == c[b, j - 1] { 0 } else { 1 };
                d[i, j] = min(min(d[i - 1, j], d[i, j - 1]) + 1, replaced);
            }
        }
        assert_eq(y[b], d[m, n]);
    }
}

/// Samples images between their pixels: row and column of each point are `(at + 1) · extent / 2 - 1/2`, with zeros around the image.
kernel grid_sample<B = 128>(x: f32[c, h, w], at: f32[n, 2], y: mut f32[c, n])
    grid [cdiv(n, B)]
    threads 64
{
    let points = tile(at, [B, 1])[.., 0, block_idx, ..];
    let column = (load(points[.., 0]) + 1.0) * cast(w, f32) * 0.5 - 0.5;
    let row = (load(points[.., 1]) + 1.0) * cast(h, f32) * 0.5 - 0.5;
    let (left, top) = (floor(column), floor(row));
    let (u, v) = (column - left, row - top);
    let (j, i) = (cast(left, i32), cast(top, i32));
    for channel in 0..c {
        let image = x[channel];
        let above = load(gather(image, i, j)) * (1.0 - u) + load(gather(image, i, j + 1)) * u;
        let below = load(gather(image, i + 1, j)) * (1.0 - u) + load(gather(image, i + 1, j + 1)) * u;
        copy(above * (1.0 - v) + below * v, tile(y[channel], [B])[.., block_idx]);
    }
}

test "images are sampled between their pixels" {
    let (x, at) = (randn(f32, [3, 7, 10], seed: 1), uniform(f32, [50, 2], seed: 2, low: -1.2, high: 1.2));
    let (y, p) = (empty(f32, [3, 50]), zeros(f64, [3, 13, 16]));
    p[.., 3..10, 3..13] = x;
    grid_sample(x, at, y);
    for k in 0..50 {
        let (column, row) = ((at[k, 0] + 1.0) * 5.0 + 2.5, (at[k, 1] + 1.0) * 3.5 + 2.5);
        let (j, i) = (int(floor(column)), int(floor(row)));
        let (u, v) = (column - j, row - i);
        let above = p[.., i, j] * (1.0 - u) + p[.., i, j + 1] * u;
        let below = p[.., i + 1, j] * (1.0 - u) + p[.., i + 1, j + 1] * u;
        assert_close(y[.., k], above * (1.0 - v) + below * v, rtol: 1e-4, atol: 1e-5);
    }
}

/// Keeps each box that no kept box before it overlaps by more than `limit` of their union. Boxes are (x0, y0, x1, y1), the best first.
kernel suppress<N = 256>(boxes: f32[b, n, 4], keep: mut bool[b, n], limit: f32)
    where n <= N
    grid [b]
    threads 64
{
    let own = boxes[block_idx];
    let x0 = load(tile(own, [N, 1])[.., 0, 0, 0]);
    let y0 = load(tile(own, [N, 1])[.., 0, 0, 1]);
    let x1 = load(tile(own, [N, 1])[.., 0, 0, 2]);
    let y1 = load(tile(own, [N, 1])[.., 0, 0, 3]);
    let area = (x1 - x0) * (y1 - y0);
    let i = index(area, 0);
    let kept = i < cast(n, i32);
    for k in 0..n {
        if scalar(reduce(i == k && kept, axis: 0, op: |p, q| p || q)) {
            let (a, c) = (boxes[block_idx, k, 0], boxes[block_idx, k, 1]);
            let (d, e) = (boxes[block_idx, k, 2], boxes[block_idx, k, 3]);
            let both = max(min(x1, d) - max(x0, a), 0.0) * max(min(y1, e) - max(y0, c), 0.0);
            let apart = both <= limit * (area + (d - a) * (e - c) - both);
            kept = kept && (apart || i <= k);
        }
    }
    copy(kept, tile(keep[block_idx], [N])[.., 0]);
}

test "boxes that overlap are suppressed" {
    let corner = uniform(f32, [2, 60, 2], seed: 1, low: 0.0, high: 20.0);
    let size = uniform(f32, [2, 60, 2], seed: 2, low: 4.0, high: 9.0);
    let (boxes, keep) = (empty(f32, [2, 60, 4]), empty(bool, [2, 60]));
    boxes[.., .., ..2] = corner;
    boxes[.., .., 2..] = corner + size;
    suppress(boxes, keep, 0.3);
    for b in 0..2 {
        let alive = ones(i32, [60]);
        let x = cast(boxes[b], f64);
        let area = (x[.., 2] - x[.., 0]) * (x[.., 3] - x[.., 1]);
        for k in 0..60 {
            if alive[k] == 1 {
                let wide = max(min(x[.., 2], x[k, 2]) - max(x[.., 0], x[k, 0]), 0.0);
                let both = wide * max(min(x[.., 3], x[k, 3]) - max(x[.., 1], x[k, 1]), 0.0);
                let hidden = both > 0.3 * (area + area[k] - both) && arange(i32, [60]) > k;
                alive = where(hidden, 0, alive);
            }
        }
        assert_eq(keep[b], alive == 1);
        assert(sum(alive) < 60 && sum(alive) > 5);
    }
}

//! `any` and `all` of tiles, and index tensors that broadcast against each other.

/// Rows of x that have an element above the limit, rows in which all are, and whether each block's tile has one at all.
kernel above<BM = 16, BN = 64>(
    x: f32[m, n],
    limit: f32,
    some: mut i32[m],
    every: mut i32[m],
    tiles: mut i32[t],
)
    where n <= BN
    grid [cdiv(m, BM)]
    threads 64
{
    let b = block_idx;
    let v = load(tile(x, [BM, BN], pad: -inf)[.., .., b, 0]);
    let is_above = v > limit;
    let inside = index(v, 1) < n;
    let ones = where(any(is_above, axis: 1), 1, 0);
    copy(cast(ones, i32)[.., 0], tile(some, [BM])[.., b]);
    let alls = all(is_above || !inside, axis: 1);
    copy(cast(where(alls, 1, 0), i32)[.., 0], tile(every, [BM])[.., b]);
    let found = register_tensor(i32, [1]);
    fill(found, 0);
    if any(is_above) {
        fill(found, 1);
    }
    if all(is_above || !inside || index(v, 0) + b * BM >= m) {
        found += 2;
    }
    copy(found, tile(tiles, [1])[.., b]);
}

test "any and all" for (m, n, limit) in [(16, 64, 2.0), (50, 37, 2.5), (33, 1, 0.0), (7, 3, -9.0)] {
    let x = randn(f32, [m, n], seed: m + n);
    let t = (m + 15) / 16;
    let (some, every, tiles) = (zeros(i32, [m]), zeros(i32, [m]), zeros(i32, [t]));
    above(x, limit, some, every, tiles);
    let is_above = x > limit;
    assert_eq(some, where(any(is_above, axis: 1), 1, 0));
    assert_eq(every, where(all(is_above, axis: 1), 1, 0));
    for i in 0..t {
        let part = is_above[i * 16..min(m, i * 16 + 16)];
        let has_one = if any(part) { 1 } else { 0 };
        let has_all = if all(part) { 2 } else { 0 };
        assert_eq(sum(where(arange(i32, [t]) == i, tiles, 0)), has_one + has_all);
    }
}

/// A loop that ends once no element changes.
kernel settled<BN = 128>(x: i32[n], y: mut i32[n])
    grid [cdiv(n, BN)]
    threads 32
{
    let v = load(tile(x, [BN])[.., block_idx]);
    while any(v > 9) {
        v = where(v > 9, v / 10, v);
    }
    copy(v, tile(y, [BN])[.., block_idx]);
}

test "the first digit of each number" for n in [128, 300] {
    let x = uniform(i32, [n], seed: n, low: 0, high: 100000);
    let y = zeros(i32, [n]);
    settled(x, y);
    let expected = x;
    for _ in 0..5 {
        expected = where(expected > 9, floor(expected / 10), expected);
    }
    assert_eq(y, expected);
}

/// y[i, j] = x[rows[i], columns[j]].
kernel crossed<BM = 16, BN = 32>(x: f32[m, n], rows: i32[p], columns: i32[q], y: mut f32[p, q])
    grid [cdiv(p, BM), cdiv(q, BN)]
    threads 64
{
    let [i, j] = block_idx;
    let down = load(tile(rows, [BM], pad: -1)[.., i])[.., new];
    let across = load(tile(columns, [BN], pad: -1)[.., j])[new, ..];
    copy(load(gather(x, down, across)), tile(y, [BM, BN])[.., .., i, j]);
}

/// y[rows[i], columns[j]] = x[i, j].
kernel spread<BM = 16, BN = 32>(x: f32[p, q], rows: i32[p], columns: i32[q], y: mut f32[m, n])
    grid [cdiv(p, BM), cdiv(q, BN)]
    threads 64
{
    let [i, j] = block_idx;
    let down = load(tile(rows, [BM], pad: -1)[.., i])[.., new];
    let across = load(tile(columns, [BN], pad: -1)[.., j])[new, ..];
    copy(load(tile(x, [BM, BN])[.., .., i, j]), scatter(y, down, across));
}

test "rows and columns are picked at once" for (m, n, p, q) in [
    (40, 70, 16, 32),
    (9, 11, 25, 50),
    (1, 3, 3, 1),
] {
    let x = randn(f32, [m, n], seed: 1);
    let rows = uniform(i32, [p], seed: 2, low: 0, high: m);
    let columns = uniform(i32, [q], seed: 3, low: 0, high: n);
    let y = zeros(f32, [p, q]);
    crossed(x, rows, columns, y);
    let down = where(rows[.., new] == arange(i32, [m])[new, ..], 1.0, 0.0);
    let across = where(columns[.., new] == arange(i32, [n])[new, ..], 1.0, 0.0);
    assert_eq(y, down @ x @ across.T);
    let (own, back) = (randn(f32, [m, n], seed: 4), zeros(f32, [m, n]));
    spread(own, cast(m - 1 - arange(i32, [m]), i32), cast(n - 1 - arange(i32, [n]), i32), back);
    let down = where(arange(i32, [m])[.., new] == m - 1 - arange(i32, [m])[new, ..], 1.0, 0.0);
    let across = where(arange(i32, [n])[.., new] == n - 1 - arange(i32, [n])[new, ..], 1.0, 0.0);
    assert_eq(back, down @ own @ across);
}

//! Functions that promise something of their results.

/// Returns the place of entry `i` in a ring of `n` entries.
fn place(i: i64, n: i64) -> i64
    where n > 0, 0 <= result, result < n
{
    i % n
}

/// Returns the first and the last row of a group, whose bounds lie in memory.
fn bounds(first: i64, end: i64, rows: i64) -> (i64, i64)
    where 0 <= result[0], result[0] <= result[1], result[1] < rows
{
    (first, end - 1)
}

/// Returns a square root that is no NaN.
fn root(x: f32) -> f32
    where result >= 0.0
{
    sqrt(x)
}

kernel entries(x: f32[n], at: i32[g], y: mut f32[g])
    where n > 0
    grid [g]
    threads 32
{
    let t = register_tensor(f32, [1]);
    fill(t, x[place(cast(at[block_idx], i64), n)]);
    copy(t, tile(y, [1])[.., block_idx]);
}

// Nothing masks the reads of `x`: the promise proves that its elements exist.
kernel ends(x: f32[n], offsets: i32[g], y: mut f32[e, 2])
    where g == e + 1
    grid [e]
    threads 32
{
    let (first, last) = bounds(cast(offsets[block_idx], i64), cast(offsets[block_idx + 1], i64), n);
    let t = register_tensor(f32, [1, 1]);
    fill(t, x[first]);
    copy(t, tile(y, [1, 1])[.., .., block_idx, 0]);
    fill(t, x[last]);
    copy(t, tile(y, [1, 1])[.., .., block_idx, 1]);
}

kernel roots(x: f32[n], y: mut f32[n])
    grid [cdiv(n, 128)]
    threads 64
{
    copy(root(load(tile(x, [128])[.., block_idx])), tile(y, [128])[.., block_idx]);
}

test "a promise that is proven" {
    let (x, y) = ([1.0, 2.0, 3.0, 4.0, 5.0], empty(f32, [3]));
    entries(cast(x, f32), cast([0, 7, 14], i32), y);
    assert_eq(y, [1.0, 3.0, 5.0]);
}

test "a promise that is checked" {
    let (x, y) = (cast([1, 2, 3, 4, 5], f32), empty(f32, [2, 2]));
    ends(x, cast([0, 2, 5], i32), y);
    assert_eq(y, [[1.0, 2.0], [3.0, 5.0]]);
}

test "a promise of each element" for n in [1, 100, 300] {
    let (x, y) = (randn(f32, [n], seed: 1), empty(f32, [n]));
    roots(cast(x * x, f32), y);
    assert_close(y, sqrt(x * x), ulp: 4);
}

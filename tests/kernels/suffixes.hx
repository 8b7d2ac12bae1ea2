//! Scans from the last element to the first: within threads, between lanes and between warps, of tensors that fill their layouts and of
//! such as do not.

kernel sums<M = 8, N = 64, T: type = f32>(x: T[m, N], y: mut T[m, N], z: mut T[m, N])
    grid [cdiv(m, M)]
    threads 64
{
    let t = load(tile(x, [M, N])[.., .., block_idx, 0]);
    copy(scan(t, axis: 1, op: |a, b| a + b, reverse: true), tile(y, [M, N])[.., .., block_idx, 0]);
    copy(scan(t, axis: 1, op: |a, b| a + b, reverse: false), tile(z, [M, N])[.., .., block_idx, 0]);
}

test "suffix sums" for (m, N, T) in [
    (8, 64, i32),
    (13, 256, i32),
    (3, 7, i64),
    (9, 100, f32),
    (1, 1, f32),
    (20, 33, i16),
    (8, 640, i32),
] {
    let x = cast(uniform(i64, [m, N], low: -9, high: 10, seed: 1), T);
    let (y, z) = (empty(T, [m, N]), empty(T, [m, N]));
    sums(x, y, z);
    assert_eq(y, flip(cumsum(flip(cast(x, i64), axis: 1), 1), axis: 1));
    assert_eq(y, scan(cast(x, i64), axis: 1, op: |a, b| a + b, reverse: true));
    assert_eq(z, cumsum(cast(x, i64), 1));
    assert_eq(y[.., N - 1], x[.., N - 1]);
}

/// Along the first axis, which several warps share.
kernel columns<M = 32, N = 16, W = 128>(x: i32[M, N], y: mut i32[M, N])
    grid [1]
    threads W
{
    copy(scan(load(x), axis: 0, op: |a, b| a + b, reverse: true), y);
}

test "columns" for (M, N, W) in [
    (32, 16, 128),
    (7, 5, 32),
    (100, 12, 128),
    (200, 1, 96),
    (64, 64, 256),
    (1000, 2, 256),
    (129, 3, 256),
] {
    let x = uniform(i32, [M, N], low: -9, high: 10, seed: 1);
    let y = empty(i32, [M, N]);
    columns<W = W>(x, y);
    assert_eq(y, flip(cumsum(flip(cast(x, i64), axis: 0), 0), axis: 0));
}

/// Each thread holds a row.
kernel own<B = 64, N = 12>(x: i32[B, N], y: mut i32[B, N])
    grid [1]
    threads 64
{
    let t = register_tensor(i32, [B, N], layout: (B, N) : (1, B));
    copy(x, t);
    copy(scan(t, axis: 1, op: |a, b| max(a, b), reverse: true), y);
}

test "within threads" {
    let x = uniform(i32, [64, 12], low: -99, high: 100, seed: 1);
    let y = empty(i32, [64, 12]);
    own(x, y);
    assert(!uses("shfl"));
    assert_eq(y, scan(x, axis: 1, op: |a, b| max(a, b), reverse: true));
}

/// The linear recurrence h[i] = a[i] · h[i + 1] + b[i]: its operator does not commute, and the later elements are its left operand.
kernel recurrence<N = 256, T: type = i64>(a: T[m, N], b: T[m, N], h: mut T[m, N])
    grid [m]
    threads 64
{
    let ra = load(tile(a, [1, N])[.., .., block_idx, 0]);
    let rb = load(tile(b, [1, N])[.., .., block_idx, 0]);
    let (_, s) = scan((ra, rb), axis: 1, op: |(a0, b0), (a1, b1)| (a0 * a1, b0 * a1 + b1), reverse: true);
    copy(s, tile(h, [1, N])[.., .., block_idx, 0]);
}

test "a recurrence from the end" for N in [256, 60, 300, 2, 1] {
    let a = uniform(i64, [3, N], low: -1, high: 2, seed: 1);
    let b = uniform(i64, [3, N], low: -9, high: 10, seed: 2);
    let (h, expected) = (empty(i64, [3, N]), zeros(i64, [3, N + 1]));
    recurrence(a, b, h);
    for i in 0..N {
        let at = N - 1 - i;
        expected[.., at] = a[.., at] * expected[.., at + 1] + b[.., at];
    }
    assert_eq(h, expected[.., ..N]);
}

/// Rows that end inside of the tile: the padding comes first, and changes no sum. The results past the end are not stored.
kernel ragged<N = 128>(x: f32[m, n], y: mut f32[m, n])
    where n <= N
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, N])[.., .., block_idx, 0]);
    copy(scan(t, axis: 1, op: |a, b| a + b, reverse: true), tile(y, [1, N])[.., .., block_idx, 0]);
}

test "ragged rows" for n in [1, 31, 100, 128] {
    let x = cast(uniform(i32, [5, n], low: -9, high: 10, seed: n), f32);
    let y = empty(f32, [5, n]);
    ragged(x, y);
    assert_eq(y, scan(x, axis: 1, op: |a, b| a + b, reverse: true));
    ragged(x, x);
    assert_eq(x, y);
}

/// Narrow elements and truth values: reachability from the end.
kernel reached<N = 96>(x: bool[N], y: mut bool[N], small: u8[N], least: mut u8[N])
    grid [1]
    threads 64
{
    copy(scan(load(x), axis: 0, op: |a, b| a || b, reverse: true), y);
    copy(scan(load(small), axis: 0, op: |a, b| min(a, b), reverse: true), least);
}

test "truth values and bytes" {
    let small = uniform(u8, [96], low: 40, high: 250, seed: 3);
    let x = arange(i32, [96]) == 41;
    let (y, least) = (empty(bool, [96]), empty(u8, [96]));
    reached(x, y, small, least);
    assert_eq(y, arange(i32, [96]) <= 41);
    assert_eq(least, scan(small, axis: 0, op: |a, b| min(a, b), reverse: true));
}

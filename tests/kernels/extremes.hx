//! Positions of extremes beside the extremes, with NaN, ties and infinities, on tiles of every kind.

/// The largest and the least element of each row, and their positions.
kernel extremes<N = 37, W = 64, THREADS = 64, T: type = f32>(
    x: T[m, N],
    high: mut T[m],
    top: mut i32[m],
    low: mut T[m],
    bottom: mut i32[m],
)
    grid [m]
    threads THREADS
{
    let row = block_idx;
    let upper = load(tile(x, [1, W], pad: nan)[.., .., row, 0]);
    copy(max(upper, axis: 1)[0, ..], tile(high, [1])[.., row]);
    copy(argmax(upper, axis: 1)[0, ..], tile(top, [1])[.., row]);
    copy(min(upper, axis: 1)[0, ..], tile(low, [1])[.., row]);
    copy(argmin(upper, axis: 1)[0, ..], tile(bottom, [1])[.., row]);
}

test "positions are those of what max and min give" for THREADS in [32, 64, 96, 256] {
    for T in [f32, f16, bf16, f64] {
        let x = cast(uniform(f32, [8, 37], seed: 1, low: -9.0, high: 9.0), T);
        // Numbers behind and before NaN, within the elements of a thread and across threads and warps.
        x[0, 0..36] = nan;
        x[1, 0] = nan;
        x[1, 1..37] = -inf;
        x[2, 8] = nan;
        x[2, 9] = 20.0;
        x[2, 10] = -20.0;
        x[3, 3..35] = nan;
        x[4, ..] = nan;
        x[4, 17] = inf;
        x[5, 5] = 30.0;
        x[5, 36] = 30.0;
        x[5, 6] = -30.0;
        x[5, 20] = -30.0;
        x[6, 1..37] = nan;
        for j in 0..37 {
            if j % 3 != 0 {
                x[7, j] = nan;
            }
        }
        let (high, low) = (empty(T, [8]), empty(T, [8]));
        let (top, bottom) = (empty(i32, [8]), empty(i32, [8]));
        extremes<THREADS = THREADS>(x, high, top, low, bottom);
        let (first, last) = (argmax(x, axis: 1), argmin(x, axis: 1));
        assert_eq(top, first);
        assert_eq(bottom, last);
        assert_eq(top[0..3], [36, 1, 9]);
        assert_eq(top[4..7], [17, 5, 0]);
        assert_eq(bottom[0..3], [36, 1, 10]);
        assert_eq(bottom[4..7], [17, 6, 0]);
        for i in 0..8 {
            let (p, q) = (first[i], last[i]);
            assert(x[i, p] == high[i] && x[i, q] == low[i]);
            for j in 0..37 {
                assert(isnan(x[i, j]) || x[i, q] <= x[i, j] && x[i, j] <= x[i, p]);
                assert(j >= p || !(x[i, j] == x[i, p]));
                assert(j >= q || !(x[i, j] == x[i, q]));
            }
        }
    }
}

test "the position of nothing but NaN is 0" {
    let x = full(f32, [1, 37], nan);
    let (high, low) = (empty(f32, [1]), empty(f32, [1]));
    let (top, bottom) = (empty(i32, [1]), empty(i32, [1]));
    extremes(x, high, top, low, bottom);
    assert(top[0] == 0 && bottom[0] == 0);
    assert(argmax(x[0]) == 0 && argmin(x[0]) == 0);
}

/// The first column in which a row differs from another, and the first in which it agrees: 0 if there is none.
kernel compared<W = 64, THREADS = 64>(x: i32[m, n], y: i32[m, n], first: mut i32[m, 2])
    where n <= W
    grid [m]
    threads THREADS
{
    let row = block_idx;
    let a = load(tile(x, [1, W])[.., .., row, 0]);
    let b = load(tile(y, [1, W])[.., .., row, 0]);
    let outside = index(a, 1) >= n;
    copy(argmax(a != b, axis: 1), tile(first, [1, 1])[.., .., row, 0]);
    copy(argmin(outside || a != b, axis: 1), tile(first, [1, 1])[.., .., row, 1]);
}

test "truth values have extremes" for THREADS in [32, 64, 256] {
    let x = zeros(i32, [4, 50]);
    let y = zeros(i32, [4, 50]);
    y[0, 17] = 1;
    y[0, 40] = 1;
    y[1, ..] = 1;
    x[1, 49] = 1;
    y[2, 0..3] = 1;
    let first = empty(i32, [4, 2]);
    compared<THREADS = THREADS>(x, y, first);
    assert_eq(first, [[17, 0], [0, 49], [0, 3], [0, 0]]);
}

/// Rows of pairs combined by a reduction in the order of the axis: the coefficients of x -> p · x + h, which do not commute.
kernel composed<THREADS = 64>(p: i32[m, n], h: i32[m, n], y: mut i32[m, 2])
    where n <= 128
    grid [m]
    threads THREADS
{
    let row = block_idx;
    let a = load(tile(p, [1, 128], pad: 1)[.., .., row, 0]);
    let b = load(tile(h, [1, 128])[.., .., row, 0]);
    let (q, r) = reduce((a, b), axis: 1, op: |(p0, h0), (p1, h1)| (p0 * p1, h0 * p1 + h1));
    copy(q, tile(y, [1, 1])[.., .., row, 0]);
    copy(r, tile(y, [1, 1])[.., .., row, 1]);
}

test "reductions combine in the order of the axis" for THREADS in [32, 96, 128, 256] {
    for n in [1, 7, 100, 128] {
        let p = cast(uniform(i32, [3, n], seed: 1, low: -1, high: 2), i32);
        let h = cast(uniform(i32, [3, n], seed: 2, low: -50, high: 50), i32);
        let y = empty(i32, [3, 2]);
        composed<THREADS = THREADS>(p, h, y);
        for i in 0..3 {
            let (q, r) = (1, 0);
            for j in 0..n {
                q = q * p[i, j];
                r = r * p[i, j] + h[i, j];
            }
            assert_eq(y[i], [q, r]);
        }
    }
}

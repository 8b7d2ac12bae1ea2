//! Rows in order, by a bitonic network: each step compares every element with the one whose position differs in one bit.

/// Whether the element `a` from position `i` comes before `b` from position `j`. Equal elements keep their order. NaN counts as the
/// largest number. Positions from `n` on come last.
fn before<DESCENDING = false, T: type = f32>(
    a: register T[M, N],
    i: register i32[M, N],
    b: register T[M, N],
    j: register i32[M, N],
    n: i64,
) -> bool[M, N] {
    let (above, below) = (a > b || a != a && b == b, b > a || b != b && a == a);
    let (less, more) = if DESCENDING { (above, below) } else { (below, above) };
    where(max(i, j) < cast(n, i32), less || !more && i < j, i < j)
}

/// Sorts the first `n` elements of each row of `v`, and `at`, their positions, with them. `N` is a power of two; `s` and `t` hold what the threads
/// exchange.
fn sort_network<DESCENDING = false, N = 1024, T: type = f32>(
    v: register mut T[M, N],
    at: register mut i32[M, N],
    s: shared mut T[M, N],
    t: shared mut i32[M, N],
    n: i64,
) {
    let (row, i) = (index(v, 0), index(v, 1));
    let size = 2;
    while size <= N {
        let distance = size / 2;
        while distance > 0 {
            copy(v, s);
            copy(at, t);
            sync();
            let (other, place) = (load(gather(s, row, i ^ distance)), load(gather(t, row, i ^ distance)));
            sync();
            // The lower of two positions gets the element that comes first, and in every second run of `size` elements the last.
            let first = (i & size == 0) == (i & distance == 0);
            let swap = before<DESCENDING = DESCENDING, T = T>(v, at, other, place, n) != first;
            v = where(swap, other, v);
            at = where(swap, place, at);
            distance = distance / 2;
        }
        size = size * 2;
    }
}

/// Sorts each row of `x`: `y` gets the elements, the least first, or the largest with `DESCENDING`, and `at` the positions that they
/// had. The order is stable, and NaN counts as the largest number. `N` is a power of two, at least as long as a row; a block takes `BM`
/// rows.
kernel sort<BM = 1, N = 1024, DESCENDING = false, T: type = f32>(
    x: T[m, n],
    y: mut T[m, n],
    at: mut i32[m, n],
)
    where n <= N && N & N - 1 == 0
    grid [cdiv(m, BM)]
    threads max(32, min(1024, BM * N / 8))
{
    let [bm] = block_idx;
    let (s, t) = (shared_tensor(T, [BM, N]), shared_tensor(i32, [BM, N]));
    let v = load(tile(x, [BM, N])[.., .., bm, 0]);
    let i = index(v, 1);
    sort_network<DESCENDING = DESCENDING, N = N, T = T>(v, i, s, t, n);
    copy(v, tile(y, [BM, N])[.., .., bm, 0]);
    copy(i, tile(at, [BM, N])[.., .., bm, 0]);
}

/// The `k` largest elements of each row of `x`, the largest first, and their positions. Of equal elements the first counts as the
/// largest. `N` is a power of two, at least as long as a row; a block takes `BM` rows.
kernel topk<BM = 1, N = 1024, T: type = f32>(x: T[m, n], y: mut T[m, k], at: mut i32[m, k])
    where k <= n && n <= N && N & N - 1 == 0
    grid [cdiv(m, BM)]
    threads max(32, min(1024, BM * N / 8))
{
    let [bm] = block_idx;
    let (s, t) = (shared_tensor(T, [BM, N]), shared_tensor(i32, [BM, N]));
    let v = load(tile(x, [BM, N])[.., .., bm, 0]);
    let i = index(v, 1);
    sort_network<DESCENDING = true, N = N, T = T>(v, i, s, t, n);
    copy(v, tile(y, [BM, N])[.., .., bm, 0]);
    copy(i, tile(at, [BM, N])[.., .., bm, 0]);
}

test "rows are sorted" for (m, n, BM) in [(2, 128, 1), (3, 100, 2), (3, 1, 1)] {
    for T in [f32, f16, i32] {
        let x = cast(randn(f32, [m, n], seed: 1) * 30.0, T);
        let (y, at) = (empty(T, [m, n]), empty(i32, [m, n]));
        sort<BM = BM, N = 128>(x, y, at);
        assert_eq(y, x.sort(axis: 1));
        for i in 0..m {
            for j in 0..n {
                assert_eq(y[i, j], sum(where(arange(i32, [n]) == at[i, j], x[i], 0)));
                assert(j == 0 || y[i, j - 1] < y[i, j] || at[i, j - 1] < at[i, j]);
            }
        }
    }
}

test "the largest come first" {
    let x = randn(f32, [1, 100], seed: 1);
    let (y, at) = (empty(f32, [1, 100]), empty(i32, [1, 100]));
    x[0, 40] = nan;
    sort<N = 128, DESCENDING = true>(x, y, at);
    assert(isnan(y[0, 0]) && at[0, 0] == 40);
    for j in 1..100 {
        assert(j == 1 || y[0, j - 1] >= y[0, j]);
        assert_eq(y[0, j], sum(where(arange(i32, [100]) == at[0, j], x[0], 0)));
    }
}

test "the k largest" for (n, k) in [(128, 8), (77, 5), (3, 3)] {
    let x = cast(uniform(i32, [2, n], seed: 1, low: 0, high: 100), f32);
    let (y, at) = (empty(f32, [2, k]), empty(i32, [2, k]));
    topk<BM = 2, N = 128>(x, y, at);
    for i in 0..2 {
        let rest = x[i].copy();
        for j in 0..k {
            assert_eq(y[i, j], max(rest));
            assert_eq(at[i, j], argmax(rest));
            rest[argmax(rest)] = -1.0;
        }
    }
}

test "sorting does not spill" {
    let x = randn(f32, [1, 1024], seed: 1);
    let (y, at) = (empty(f32, [1, 1024]), empty(i32, [1, 1024]));
    sort(x, y, at);
    assert_eq(y, x.sort(axis: 1));
    assert(bytes_per_access("x") == 16 && bytes_per_access("y") == 16);
    assert(spills() == 0);
}

bench "rows of 1024" {
    let x = randn(f32, [8192, 1024]);
    let (y, at) = (empty(f32, [8192, 1024]), empty(i32, [8192, 1024]));
    let (largest, places) = (empty(f32, [8192, 8]), empty(i32, [8192, 8]));
    measure bytes 3 * 4 * 8192 * 1024 { sort(x, y, at) }
    measure bytes 4 * 8192 * 1024 { topk(x, largest, places) }
}

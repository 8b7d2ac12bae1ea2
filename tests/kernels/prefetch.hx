//! Prefetches of tiles whose rows are long, short, contiguous along either dimension, or a single element each.

/// y = x + x; each round fetches the tile of the next one.
kernel ahead<BM = 64, BN = 128, T: type = f16>(x: T[m, n], y: mut T[m, n])
    grid [cdiv(m, BM)]
    threads 128
{
    for j in 0..cdiv(n, BN) {
        prefetch(tile(x, [BM, BN])[.., .., block_idx, j + 1]);
        let t = load(tile(x, [BM, BN])[.., .., block_idx, j]);
        copy(t + t, tile(y, [BM, BN])[.., .., block_idx, j]);
    }
}

test "tiles" for (m, n) in [(64, 256), (100, 136), (5, 3)] {
    let (x, y) = (randn(f16, [m, n], seed: 1), empty(f16, [m, n]));
    ahead(x, y);
    assert_eq(y, x + x);
    let (f, g) = (cast(x, f32), empty(f32, [m, n]));
    ahead(f, g);
    assert_eq(g, f + f);
    assert(uses("tma.prefetch") || uses("prefetch.L2"));
}

/// y = xᵀ: rows of x, columns of x, single elements, a part that ends before its tensor, and halos are fetched.
kernel turned(x: f32[m, n], y: mut f32[n, m], k: i32)
    where 0 <= k, k <= n
    grid [cdiv(m, 64), cdiv(n, 8)]
    threads 64
{
    let [i, j] = block_idx;
    prefetch(tile(x, [64, 1])[.., .., i, 8 * j]);
    prefetch(tile(x.T, [8, 64])[.., .., j, i]);
    prefetch(tile(x[.., ..k], [64, 24])[.., .., i, 0]);
    prefetch(global_view(x[64 * i - 1.., ..], (66, 24) : (n, 1)));
    prefetch(global_view(x[64 * i.., ..], ((8, 8), 4) : ((8 * n, n), 1)));
    copy(load(tile(x, [64, 8])[.., .., i, j]).T, tile(y, [8, 64])[.., .., j, i]);
}

test "views" for (m, n, k) in [(64, 8, 8), (100, 37, 5), (3, 100, 40)] {
    let (x, y) = (randn(f32, [m, n], seed: 1), empty(f32, [n, m]));
    turned(x, y, k);
    assert_eq(y, x.T);
    assert(uses("prefetch.L2"));
}

/// y = x of narrow elements, by few threads.
kernel narrow<T: type = i8>(x: T[n], y: mut T[n])
    grid [cdiv(n, 1000)]
    threads 32
{
    prefetch(tile(x, [1000])[.., block_idx + 1]);
    copy(tile(x, [1000])[.., block_idx], tile(y, [1000])[.., block_idx]);
}

test "vectors" for n in [8, 1000, 7003] {
    let (x, y) = (uniform(i8, [n], low: -100, high: 100, seed: 1), empty(i8, [n]));
    narrow(x, y);
    assert_eq(x, y);
    let (f, g) = (randn(f64, [n], seed: 2), empty(f64, [n]));
    narrow(f, g);
    assert_eq(f, g);
}

//! Hints for caches: they reach each kind of access, at each width, and change no value.

/// y = 2x by loads and stores.
kernel scaled<N = 2048, T: type = f16>(x: T[n], y: mut T[n])
    grid [cdiv(n, N)]
    threads 128
{
    let t = load(tile(x, [N])[.., block_idx], l1: "no_allocate", l2: "evict_first");
    copy(t + t, tile(y, [N])[.., block_idx], l1: "evict_last", l2: "evict_last");
}

test "loads and stores" for n in [16, 2048, 5000, 7777] {
    let x = uniform(f32, [n], low: -10.0, high: 10.0, seed: 1);
    let y = empty(f32, [n]);
    scaled(x, y);
    assert_eq(y, x + x);
    assert(
        uses("ld.global.L1::no_allocate.L2::cache_hint") && uses("st.global.L1::evict_last.L2::cache_hint"),
    );
    let (h, g) = (cast(x, f16), empty(f16, [n]));
    scaled(h, g);
    assert_eq(g, h + h);
    let (i, j) = (uniform(i8, [n], low: -60, high: 60, seed: 2), empty(i8, [n]));
    moved(i, j);
    assert_eq(i, j);
    let (d, e) = (cast(x, f64), empty(f64, [n]));
    scaled(d, e);
    assert_close(e, d + d, ulp: 1);
}

/// y = x; a copy between two global tensors gives its hint to loads and stores.
kernel moved<N = 2048, T: type = i8>(x: T[n], y: mut T[n])
    grid [cdiv(n, N)]
    threads 128
{
    copy(tile(x, [N])[.., block_idx], tile(y, [N])[.., block_idx], l2: "evict_first");
}

test "a copy between global tensors" {
    let (x, y) = (randn(f32, [3000], seed: 1), empty(f32, [3000]));
    moved(x, y);
    assert_eq(x, y);
    assert(uses("ld.global.L2::cache_hint") && uses("st.global.L2::cache_hint"));
}

/// y = x by way of shared memory. The tile is wider than one round of copies.
kernel staged<BM = 64, BN = 96, T: type = f16>(x: T[m, n], y: mut T[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [i, j] = block_idx;
    let s = shared_tensor(T, [BM, BN]);
    copy_async(tile(x, [BM, BN])[.., .., i, j], s, l2: "evict_last");
    commit();
    wait(0);
    sync();
    copy(s, tile(y, [BM, BN])[.., .., i, j], l2: "evict_first");
}

/// The rows of x that `rows` names, converted on their way.
kernel picked<BM = 32>(x: f16[m, 64], rows: i32[r], y: mut f32[r, 64])
    grid [cdiv(r, BM)]
    threads 128
{
    let from = gather(x, tile(rows, [BM])[.., block_idx]);
    copy(
        cast(tile(from, [BM, 64])[.., .., 0, 0], f32),
        tile(y, [BM, 64])[.., .., block_idx, 0],
        l2: "evict_last",
    );
}

test "rows of a table" {
    let x = randn(f16, [100, 64], seed: 1);
    let rows = uniform(i32, [50], low: 0, high: 100, seed: 2);
    let y = empty(f32, [50, 64]);
    picked(x, rows, y);
    for i in 0..50 {
        assert_eq(y[i], cast(x[rows[i]], f32));
    }
}

test "copies in groups" for (m, n) in [(64, 96), (100, 104), (33, 7)] {
    let (x, y) = (randn(f32, [m, n], seed: 1), empty(f32, [m, n]));
    staged(x, y);
    assert_eq(x, y);
    let (h, g) = (cast(x, f16), empty(f16, [m, n]));
    staged(h, g);
    assert_eq(h, g);
}

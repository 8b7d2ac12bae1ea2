//! Tiles of a part of a tensor: what they read past the end of the part is the padding, and what they write there is dropped.

/// y = x in the elements from `first` to before `end`.
kernel part<B = 64, T: type = f16>(x: T[m], y: mut T[m], first: i32, end: i32)
    grid [cdiv(m, B)]
    threads 32
{
    copy(load(tile(x[first..end], [B])[.., block_idx]), tile(y[first..end], [B])[.., block_idx]);
}

test "elements of a part" for (first, end) in [(0, 64), (3, 130), (5, 5), (70, 40), (190, 300), (-9, 20)] {
    let x = randn(f16, [200], seed: 1);
    let y = full(f16, [200], 7.0);
    part(x, y, first, end);
    let at = arange(i64, [200]);
    assert_eq(y, where(at >= first && at < end, x, full(f16, [200], 7.0)));
}

/// Row `i` of the first half of `x`, and zeros for an `i` past the half, although `x` goes on there.
kernel row<N = 32>(x: f32[m, N], y: mut f32[N], i: i32)
    where m % 2 == 0, i >= 0
    grid [1]
    threads 32
{
    copy(load(x[..m / 2][i]), y);
}

test "rows of a half" for i in [0, 9, 10, 19, 20, 1000] {
    let x = randn(f32, [20, 32], seed: 1);
    let y = empty(f32, [32]);
    row(x, y, i);
    assert_eq(y, if i < 10 { x[i] } else { zeros(f32, [32]) });
}

/// The rows of each third of `x`, in tiles that do not divide it, with what is past its end as `-1`.
kernel thirds<M = 16, N = 32>(x: f32[m, n], y: mut f32[3, t, n])
    where m % 3 == 0
    grid [cdiv(t, M), cdiv(n, N), 3]
    threads 64
{
    let [i, j, k] = block_idx;
    let own = tile(x[k * (m / 3)..(k + 1) * (m / 3)], [M, N], pad: -1.0);
    copy(load(own[.., .., i, j]), tile(y[k], [M, N])[.., .., i, j]);
}

/// As `thirds`, without registers. Asynchronous copies pad with zeros.
kernel thirds_async<M = 16, N = 32>(x: f32[m, n], y: mut f32[3, t, n])
    where m % 3 == 0
    grid [cdiv(t, M), cdiv(n, N), 3]
    threads 64
{
    let [i, j, k] = block_idx;
    let s = shared_tensor(f32, [M, N]);
    copy_async(tile(x[k * (m / 3)..(k + 1) * (m / 3)], [M, N])[.., .., i, j], s);
    commit();
    wait(0);
    sync();
    copy(s, tile(y[k], [M, N])[.., .., i, j]);
}

test "thirds in tiles that do not divide them" {
    let x = randn(f32, [60, 36], seed: 1);
    let (y, z) = (empty(f32, [3, 32, 36]), empty(f32, [3, 32, 36]));
    thirds(x, y);
    thirds_async(x, z);
    assert_eq(y[.., ..20], reshape(x, [3, 20, 36]));
    assert_eq(z[.., ..20], reshape(x, [3, 20, 36]));
    assert_eq(y[.., 20..], full(f32, [3, 12, 36], -1.0));
    assert_eq(z[.., 20..], zeros(f32, [3, 12, 36]));
}

/// The columns of a part, whose end is known to be even only: accesses have two elements.
kernel columns<M = 8, N = 64>(x: f16[m, n], y: mut f16[m, n], pairs: i32)
    where n % 8 == 0
    grid [cdiv(m, M), cdiv(n, N)]
    threads 32
{
    let [i, j] = block_idx;
    let t = load(tile(x[.., ..pairs * 2], [M, N])[.., .., i, j]);
    copy(t, tile(y[.., ..pairs * 2], [M, N])[.., .., i, j]);
}

test "columns of a part" for pairs in [0, 7, 40, 100] {
    let x = randn(f16, [20, 136], seed: 1);
    let y = full(f16, [20, 136], 7.0);
    columns(x, y, pairs);
    assert_eq(bytes_per_access("t"), 4);
    assert_eq(y, where(reshape(arange(i64, [136]), [1, 136]) < pairs * 2, x, full(f16, [20, 136], 7.0)));
}

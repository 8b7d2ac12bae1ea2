//! Values that change hands between threads where layouts cannot agree.

/// d = (a · bᵀ) · eᵀ with a different arrangement of warps for each product: what the first leaves in registers moves.
kernel chained<M = 64, N = 64, K = 32, P = 64>(a: f16[M, K], b: f16[N, K], e: f16[P, N], d: mut f16[M, P])
    grid [1]
    threads 128
{
    let s = register_tensor(f32, [M, N]);
    fill(s, 0.0);
    gemm(s, load(a), load(b), warps: [2, 2]);
    let t = register_tensor(f32, [M, P]);
    fill(t, 0.0);
    gemm(t, cast(s, f16), load(e), warps: [4, 1]);
    copy(cast(t, f16), d);
}

test "two products with different arrangements of warps" {
    let a = randn(f16, [64, 32], seed: 1);
    let b = randn(f16, [64, 32], seed: 2);
    let e = randn(f16, [64, 64], seed: 3);
    let d = empty(f16, [64, 64]);
    chained(a, b, e, d);
    assert(conflicts() == 0 && redistributions() == 1);
    assert_close(d, cast(a @ b.T, f16) @ e.T, rtol: 1e-2, atol: 5e-2);
}

/// An accumulator is assigned what another layout holds, in a loop.
kernel assigned(a: f16[64, 64], b: f16[64, 64], x: f32[64, 64], c: mut f32[64, 64])
    grid [1]
    threads 128
{
    let acc = register_tensor(f32, [64, 64], layout: (128, 32) : (1, 128));
    fill(acc, 0.0);
    for _i in 0..3 {
        let s = register_tensor(f32, [64, 64]);
        fill(s, 0.0);
        gemm(s, load(a), load(b));
        acc = acc + s;
    }
    copy(acc + load(x), c);
}

test "a pinned tensor is assigned the result of a product" {
    let a = randn(f16, [64, 64], seed: 1);
    let b = randn(f16, [64, 64], seed: 2);
    let x = randn(f32, [64, 64], seed: 3);
    let c = empty(f32, [64, 64]);
    assigned(a, b, x, c);
    let y = cast(a, f32) @ cast(b, f32).T;
    assert_close(c, y + y + y + x, rtol: 1e-4, atol: 1e-3);
}

/// A rearrangement with a free target is worth it for wide stores, and costs nothing where it changes nothing.
kernel stored<BN = 128>(a: f16[64, 64], b: f16[BN, 64], c: mut f16[64, BN])
    grid [1]
    threads 128
{
    let s = register_tensor(f32, [64, BN]);
    fill(s, 0.0);
    gemm(s, load(a), load(b));
    let h = cast(s, f16);
    copy(rearrange(h, auto), c);
    copy(h, c);
}

test "a rearrangement with a free target" {
    let a = randn(f16, [64, 64], seed: 1);
    let b = randn(f16, [128, 64], seed: 2);
    let c = empty(f16, [64, 128]);
    stored(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-2, atol: 1e-2);
}

/// A row of the product scaled by a pinned vector that other threads hold.
kernel scaled(a: f16[64, 32], b: f16[64, 32], w: f32[64, 1], c: mut f32[64, 64])
    grid [1]
    threads 128
{
    let s = register_tensor(f32, [64, 64]);
    fill(s, 0.0);
    gemm(s, load(a), load(b));
    let v = register_tensor(f32, [64, 1], layout: ((64, 2), 1) : ((1, 0), 0));
    copy(w, v);
    copy(s * v, c);
}

test "a broadcast operand that other threads hold" {
    let a = randn(f16, [64, 32], seed: 1);
    let b = randn(f16, [64, 32], seed: 2);
    let w = randn(f32, [64, 1], seed: 3);
    let c = empty(f32, [64, 64]);
    scaled(a, b, w, c);
    assert_close(c, (cast(a, f32) @ cast(b, f32).T) * w, rtol: 1e-4, atol: 1e-3);
}

/// Two buffers of which the second is used when the first is no longer: with a barrier in between they share a place.
kernel turns(a: f16[64, 64], c: mut f16[64, 64])
    grid [1]
    threads 128
{
    let first = shared_tensor(f16, [64, 64]);
    let second = shared_tensor(f16, [64, 64]);
    copy(a, first);
    sync();
    let x = load(first.T);
    sync();
    copy(x + x, second);
    sync();
    copy(second, c);
}

test "buffers take turns where a barrier parts their uses" {
    let a = randn(f16, [64, 64], seed: 1);
    let c = empty(f16, [64, 64]);
    turns(a, c);
    assert_eq(c, a.T + a.T);
}

/// A tensor multiplied with itself is held in one way and read in two.
kernel squared<T: type = i32, N = 32, K = 48, W = 4>(x: T[N, K], y: mut f32[N, N])
    grid [1]
    threads 32 * W
{
    let a = load(x);
    let c = register_tensor(T, [N, N]);
    fill(c, 1);
    gemm(c, a, a);
    copy(cast(c, f32), y);
}

test "a tensor multiplied with itself" {
    let x = cast(uniform(f32, [32, 48], seed: 1, low: -4.0, high: 4.0), i32);
    let y = empty(f32, [32, 32]);
    squared(x, y);
    assert_eq(y, cast(x @ x.T, f32) + 1.0);
    let x = cast(floor(uniform(f32, [24, 24], seed: 2, low: -4.0, high: 4.0)), f32);
    let y = empty(f32, [24, 24]);
    squared<T = f32, N = 24, K = 24, W = 6>(x, y);
    assert_eq(y, x @ x.T + 1.0);
    let x = cast(floor(uniform(f32, [24, 48], seed: 2, low: -4.0, high: 4.0)), f32);
    squared<T = f32, N = 24, K = 48, W = 8>(x, y);
    assert_eq(y, x @ x.T + 1.0);
}

/// The sums of one product are an operand of another, whose sums begin with a loaded tile.
kernel onto_a_tile(a: f64[10, 10], b: f64[10, 10], y: mut f64[10, 10])
    grid [1]
    threads 96
{
    let ra = load(a);
    let s = shared_tensor(f64, [10, 10]);
    copy(ra, s);
    sync();
    let c = register_tensor(f64, [10, 10]);
    fill(c, 2.0);
    gemm(c, s, ra);
    let rb = load(b);
    let t = shared_tensor(f64, [10, 10]);
    copy(rb, t);
    sync();
    let d = rb;
    gemm(d, c, t);
    copy(d, y);
}

test "sums that move keep what they begin with" {
    let a = floor(uniform(f64, [10, 10], seed: 1) * 3.0) - 1.0;
    let b = floor(uniform(f64, [10, 10], seed: 2) * 3.0) - 1.0;
    let y = empty(f64, [10, 10]);
    onto_a_tile(a, b, y);
    assert_eq(y, (a @ a.T + 2.0) @ b.T + b);
}

/// A tile of one row: the stride between rows does not matter, however the threads cover it.
kernel one_row(x: i64[1, n] : [ld, 1], w: i64[n], y: mut i64[1, n])
    where n == 32
    grid [1]
    threads 64
{
    let a = load(tile(w, [32])[.., 0][new, ..]);
    copy(max(a, load(tile(x, [1, 32])[.., .., 0, 0])), tile(y, [1, 32])[.., .., 0, 0]);
}

test "one row of a strided tensor" {
    let wide = cast(uniform(f64, [1, 55], seed: 1, low: -9.0, high: 9.0), i64);
    let w = cast(uniform(f64, [32], seed: 2, low: -9.0, high: 9.0), i64);
    let x = wide[.., 16..48];
    let y = empty(i64, [1, 32]);
    one_row(x, w, y);
    assert_eq(y, max(x, w[new, ..]));
}

/// A tile that is added to its transpose again and again: each time other threads have what a thread needs.
kernel folded(x: f32[64, 64], y: mut f32[64, 64])
    grid [1]
    threads 128
{
    let a = load(x);
    a = a * 2.0 + a.T;
    a = a * 2.0 + a.T;
    a = a * 2.0 + a.T;
    copy(a, y);
}

test "a tile and its transpose, three times" {
    let x = cast(floor(uniform(f32, [64, 64], seed: 1) * 9.0) - 4.0, f32);
    let y = empty(f32, [64, 64]);
    folded(x, y);
    let a = x * 2.0 + x.T;
    let b = a * 2.0 + a.T;
    assert_eq(y, b * 2.0 + b.T);
}

/// What a product reads is the sum along an axis of one element, where instructions have room for more rows.
kernel summed_row(x: f32[1, 32], w: f32[8, 32], y: mut f32[1, 8], z: mut f32[1, 32])
    grid [1]
    threads 96
{
    let row = sum(load(x), axis: 0);
    let c = register_tensor(f32, [1, 8]);
    fill(c, 0.0);
    gemm(c, cast(row, tf32), cast(load(w), tf32));
    copy(c, y);
    copy(row, z);
}

test "a product with the sum of one row" {
    let x = cast(floor(uniform(f32, [1, 32], seed: 1) * 9.0) - 4.0, f32);
    let w = cast(floor(uniform(f32, [8, 32], seed: 2) * 9.0) - 4.0, f32);
    let (y, z) = (empty(f32, [1, 8]), empty(f32, [1, 32]));
    summed_row(x, w, y, z);
    assert_eq(y, x @ w.T);
    assert_eq(z, x);
}

/// Packed elements do not change hands one by one: where any threads may have them, they stay where they are, and what they are made
/// of moves.
kernel packed_kept(x: f16[m, n], w: f16[k, l], c: mut i4[r, s], d: mut f16[p, q], e: mut f32[u, v])
    grid [1]
    threads 192
{
    let staged = shared_tensor(f16, [32, 16]);
    copy(tile(x, [32, 16], pad: 0.0)[.., .., 0, 0], staged);
    sync();
    let whole = load(staged);
    let narrow = cast(whole, i4);
    let packed = rearrange(narrow, auto);
    let top = max(whole, axis: 1);
    let below = top - whole;
    let sums = register_tensor(f32, [32, 16]);
    fill(sums, 2.0);
    let t = shared_tensor(f16, [32, 16]);
    copy(whole, t);
    sync();
    gemm(sums, t, load(tile(w, [16, 16])[.., .., 0, 0]));
    copy(packed, tile(c, [32, 16])[.., .., 0, 0]);
    copy(below, tile(d.T, [32, 16])[.., .., 0, 0]);
    copy(sums, tile(e, [32, 16])[.., .., 0, 0]);
}

test "packed elements that are rearranged" {
    let x = cast(floor(uniform(f32, [32, 16], seed: 1) * 9.0) - 4.0, f16);
    let w = cast(floor(uniform(f32, [16, 16], seed: 2) * 9.0) - 4.0, f16);
    let (c, d, e) = (empty(i4, [32, 16]), empty(f16, [15, 31]), empty(f32, [32, 16]));
    packed_kept(x, w, c, d, e);
    assert_eq(c, x);
    assert_eq(d, (max(x, axis: 1, keepdims: true) - x).T[..15, ..31]);
    assert_eq(e, x @ w.T + 2.0);
}

//! Tiles with their elements in reverse order along an axis: within threads, between lanes, and through shared memory.

kernel rows<B = 8, N = 64, T: type = f32>(x: T[m, N], y: mut T[m, N])
    grid [cdiv(m, B)]
    threads 64
{
    let t = load(tile(x, [B, N])[.., .., block_idx, 0]);
    copy(flip(t, axis: 1), tile(y, [B, N])[.., .., block_idx, 0]);
}

test "between lanes" for (T, m) in [
    (f32, 13),
    (f16, 8),
    (bf16, 9),
    (i8, 9),
    (f64, 3),
    (bool, 3),
    (f8e4m3, 10),
    (u64, 1),
] {
    let x = cast(uniform(i64, [m, 64], low: 0, high: 100, seed: 1), T);
    let y = empty(T, [m, 64]);
    rows(x, y);
    assert(uses("shfl.bfly.b32"));
    assert(!uses("st.shared"));
    assert_eq(y, flip(x, axis: 1));
    for i in 0..64 {
        assert_eq(y[.., i], x[.., 63 - i]);
    }
}

test "elements below a byte" for T in [i4, u4, u2, f4e2m1] {
    let x = cast(uniform(i64, [16, 64], low: 0, high: 7, seed: 1), T);
    let y = zeros(T, [16, 64]);
    rows<T = T>(x, y);
    assert_eq(y, flip(x, axis: 1));
}

/// Each thread holds a row.
kernel own<B = 64, N = 8, T: type = f32>(x: T[m, N], y: mut T[m, N])
    grid [cdiv(m, B)]
    threads 64
{
    let t = register_tensor(T, [B, N], layout: (B, N) : (1, B));
    copy(tile(x, [B, N])[.., .., block_idx, 0], t);
    copy(flip(t, axis: 1), tile(y, [B, N])[.., .., block_idx, 0]);
}

test "within threads" for (T, m) in [(f32, 64), (f16, 70), (u8, 1), (i64, 65)] {
    let x = cast(uniform(i64, [m, 8], low: 0, high: 100, seed: 1), T);
    let y = empty(T, [m, 8]);
    own(x, y);
    assert(!uses("shfl"));
    assert(!uses("st.shared"));
    assert_eq(y, flip(x, axis: 1));
}

/// The axis is dealt to several warps, or the threads hold more places than it has elements.
kernel through<M = 16, N = 32, T: type = f32>(x: T[M, N], y: mut T[M, N], both: mut T[M, N])
    grid [1]
    threads 128
{
    let t = load(x);
    let flipped = flip(t, axis: 0);
    copy(flipped, y);
    copy(flip(flipped, axis: 1) + t, both);
}

test "through shared memory" for (M, N, T) in [
    (16, 32, f32),
    (64, 8, f16),
    (20, 24, i32),
    (7, 5, f32),
    (1, 100, f64),
    (33, 1, i8),
    (3, 128, u8),
] {
    let x = cast(uniform(i64, [M, N], low: 0, high: 50, seed: 1), T);
    let (y, both) = (empty(T, [M, N]), empty(T, [M, N]));
    through(x, y, both);
    assert_eq(y, flip(x, axis: 0));
    for i in 0..M {
        assert_eq(y[i], x[M - 1 - i]);
    }
    assert_eq(both, flip(x.flip(axis: 0), axis: 1) + x);
}

/// Flips of parts and of expressions, in a loop, and twice.
kernel chained<N = 96>(x: f32[N, 16], y: mut f32[N, 16], z: mut f32[N, 16])
    grid [1]
    threads 96
{
    let t = load(x);
    for _ in 0..3 {
        t = flip(t, axis: 1) * 2.0;
    }
    copy(t, y);
    let halves = concat(flip(t[.., 8..], axis: 1), flip(t[.., ..8] + 1.0, axis: 1), axis: 1);
    copy(flip(flip(halves, axis: 0), axis: 0), z);
}

test "parts, expressions, and flips of flips" {
    let x = randn(f32, [96, 16], seed: 1);
    let (y, z) = (empty(f32, [96, 16]), empty(f32, [96, 16]));
    chained(x, y, z);
    assert_eq(y, flip(x * 8.0, axis: 1));
    assert_eq(z[.., ..8], flip(y[.., 8..], axis: 1));
    assert_eq(z[.., 8..], flip(cast(y[.., ..8] + 1.0, f32), axis: 1));
}

/// The operand of a product is flipped along K: the other operand meets its elements in reverse order.
kernel product<M = 32, N = 32, K = 32>(a: f16[M, K], b: f16[N, K], c: mut f32[M, N])
    grid [1]
    threads 64
{
    let acc = register_tensor(f32, [M, N]);
    fill(acc, 0.0);
    gemm(acc, flip(load(a), axis: 1), load(b));
    copy(acc, c);
}

test "operands" {
    let (a, b) = (randn(f16, [32, 32], seed: 1), randn(f16, [32, 32], seed: 2));
    let c = empty(f32, [32, 32]);
    product(a, b, c);
    assert_close(c, flip(a, axis: 1) @ b.T, atol: 1e-3);
}

/// An update in place: each thread holds a row, and stores it from right to left.
kernel turned<N = 8>(y: mut f32[m, N])
    grid [cdiv(m, 32)]
    threads 32
{
    let t = register_tensor(f32, [32, N], layout: (32, N) : (1, 32));
    copy(tile(y, [32, N])[.., .., block_idx, 0], t);
    copy(flip(t, axis: 1), tile(y, [32, N])[.., .., block_idx, 0]);
}

test "in place" {
    let y = randn(f32, [70, 8], seed: 1);
    let x = y.copy();
    turned(y);
    assert_eq(y, flip(x, axis: 1));
}

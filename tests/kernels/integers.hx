//! Products of narrow integers, exact in 32 bits.

/// c[m, n] = a[m, k] · b[n, k]ᵀ, for any element types that an instruction multiplies.
kernel product<BM = 32, BN = 32, BK = 64, A: type = i8, B: type = i8, C: type = i32>(
    a: A[m, k],
    b: B[n, k],
    c: mut C[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(A, [BM, BK]);
    let sb = shared_tensor(B, [BN, BK]);
    let rc = register_tensor(C, [BM, BN]);
    fill(rc, 0);
    for ki in 0..cdiv(k, BK) {
        copy(tile(a, [BM, BK])[.., .., bm, ki], sa);
        copy(tile(b, [BN, BK])[.., .., bn, ki], sb);
        sync();
        gemm(rc, sa, sb);
        sync();
    }
    copy(rc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "8 bits" for (m, n, k) in [(32, 32, 64), (100, 72, 80), (33, 17, 50)] {
    let a = uniform(i8, [m, k], low: -128, high: 128, seed: 1);
    let b = uniform(i8, [n, k], low: -128, high: 128, seed: 2);
    let p = uniform(u8, [m, k], low: 0, high: 256, seed: 3);
    let q = uniform(u8, [n, k], low: 0, high: 256, seed: 4);
    let c = empty(i32, [m, n]);
    product(a, b, c);
    assert_eq(c, a @ b.T);
    product(p, q, c);
    assert_eq(c, p @ q.T);
    product(a, q, c);
    assert_eq(c, a @ q.T);
    product(p, b, c);
    assert_eq(c, p @ b.T);
    // 16 steps along K at once.
    product<BK = 16>(a, b, c);
    assert_eq(c, a @ b.T);
    product<BK = 16>(p, q, c);
    assert_eq(c, p @ q.T);
    product<BK = 16>(a, q, c);
    assert_eq(c, a @ q.T);
    product<BK = 16>(p, b, c);
    assert_eq(c, p @ b.T);
    // No matrix instruction takes 4 steps.
    product<BK = 4>(a, b, c);
    assert_eq(c, a @ b.T);
    product<BK = 4>(p, q, c);
    assert_eq(c, p @ q.T);
    product<BK = 4>(a, q, c);
    assert_eq(c, a @ q.T);
    product<BK = 4>(p, b, c);
    assert_eq(c, p @ b.T);
}

test "4 bits" for (m, n, k) in [(32, 32, 64), (100, 72, 80), (33, 17, 50)] {
    let a = uniform(i4, [m, k], low: -8, high: 8, seed: 1);
    let b = uniform(i4, [n, k], low: -8, high: 8, seed: 2);
    let p = uniform(u4, [m, k], low: 0, high: 16, seed: 3);
    let q = uniform(u4, [n, k], low: 0, high: 16, seed: 4);
    let c = empty(i32, [m, n]);
    product(a, b, c);
    assert_eq(c, a @ b.T);
    product(p, q, c);
    assert_eq(c, p @ q.T);
    product(a, q, c);
    assert_eq(c, a @ q.T);
    product(p, b, c);
    assert_eq(c, p @ b.T);
    product<BK = 32>(a, b, c);
    assert_eq(c, a @ b.T);
    product<BK = 32>(p, q, c);
    assert_eq(c, p @ q.T);
    product<BK = 32>(a, q, c);
    assert_eq(c, a @ q.T);
    product<BK = 32>(p, b, c);
    assert_eq(c, p @ b.T);
}

test "32 bits wrap" for (m, n, k) in [(32, 32, 16), (33, 17, 20)] {
    let a = uniform(i32, [m, k], low: -40000, high: 40000, seed: 1);
    let b = uniform(i32, [n, k], low: -40000, high: 40000, seed: 2);
    let c = empty(i32, [m, n]);
    product<BK = 4>(a, b, c);
    // As two's complement: into the range by a multiple of 2^32.
    let exact = a @ b.T;
    let whole = floor((exact + 2147483648) / 4294967296.0);
    assert_eq(c, cast(exact - whole * 4294967296.0, i32));
    let p = cast(abs(a), u32);
    let q = cast(abs(b), u32);
    let d = empty(u32, [m, n]);
    product<BK = 4>(p, q, d);
    let large = p @ q.T;
    assert_eq(d, cast(large - floor(large / 4294967296.0) * 4294967296.0, u32));
}

/// The same instruction loads elements of 8 and of 16 bits in one kernel.
kernel two_widths(x: i8[m, k], w: i8[n, k], p: f16[m, k], q: f16[n, k], y: mut i32[m, n], z: mut f32[m, n])
    grid [1]
    threads 128
{
    let sx = shared_tensor(i8, [64, 64]);
    let sw = shared_tensor(i8, [64, 64]);
    let sp = shared_tensor(f16, [64, 64]);
    let sq = shared_tensor(f16, [64, 64]);
    copy(tile(x, [64, 64])[.., .., 0, 0], sx);
    copy(tile(w, [64, 64])[.., .., 0, 0], sw);
    copy(tile(p, [64, 64])[.., .., 0, 0], sp);
    copy(tile(q, [64, 64])[.., .., 0, 0], sq);
    sync();
    let a = register_tensor(i32, [64, 64]);
    fill(a, 0);
    gemm(a, sx, sw);
    let b = register_tensor(f32, [64, 64]);
    fill(b, 0.0);
    gemm(b, sp, sq);
    copy(a, tile(y, [64, 64])[.., .., 0, 0]);
    copy(b, tile(z, [64, 64])[.., .., 0, 0]);
}

test "two widths" {
    let x = uniform(i8, [64, 64], low: -8, high: 8, seed: 1);
    let w = uniform(i8, [64, 64], low: -8, high: 8, seed: 2);
    let p = cast(floor(uniform(f64, [64, 64], seed: 3) * 9.0), f16);
    let q = cast(floor(uniform(f64, [64, 64], seed: 4) * 9.0), f16);
    let y = empty(i32, [64, 64]);
    let z = empty(f32, [64, 64]);
    two_widths(x, w, p, q, y, z);
    assert_eq(y, cast(x, f64) @ cast(w, f64).T);
    assert_eq(z, p @ q.T);
}

/// Numbers of the block compute as the elements of tensors of their type do.
kernel as_elements<T: type>(x: T[n], y: T[n], a: T, b: T, out: mut T[8, n])
    where n == 32
    grid [1]
    threads 32
{
    let [s, t] = [load(x[..32]), load(y[..32])];
    let ones = t - t + 1;
    let d = where(t == 0, 1, t);
    let e = if b == 0 { ones * 1 } else { ones * b };
    assert(s + t == a + b, "sum");
    assert(s - t == a - b, "difference");
    assert(s * t == a * b, "product");
    assert(s / d == ones * a / e, "quotient");
    assert(s % d == ones * a % e, "remainder");
    assert(min(s, t) == min(a, b), "min");
    assert(max(s, t) == max(a, b), "max");
    assert((s < t) == (ones * a < b), "order");
    let q = if b == 0 { a } else { a / b };
    let r = if b == 0 { a } else { a % b };
    copy(ones * (a + b), out[0, ..32]);
    copy(ones * (a - b), out[1, ..32]);
    copy(ones * (a * b), out[2, ..32]);
    copy(ones * q, out[3, ..32]);
    copy(ones * r, out[4, ..32]);
    copy(ones * (a * a * b + a), out[5, ..32]);
    copy(ones * min(a, b), out[6, ..32]);
    copy(ones * max(a, b), out[7, ..32]);
}

/// The same by tensors alone.
kernel by_elements<T: type>(x: T[n], y: T[n], out: mut T[8, n])
    where n == 32
    grid [1]
    threads 32
{
    let [a, b] = [load(x[..32]), load(y[..32])];
    let d = where(b == 0, 1, b);
    copy(a + b, out[0, ..32]);
    copy(a - b, out[1, ..32]);
    copy(a * b, out[2, ..32]);
    copy(where(b == 0, a, a / d), out[3, ..32]);
    copy(where(b == 0, a, a % d), out[4, ..32]);
    copy(a * a * b + a, out[5, ..32]);
    copy(min(a, b), out[6, ..32]);
    copy(max(a, b), out[7, ..32]);
}

test "numbers wrap as elements do" for (T, a, b) in [
    (i8, 127, 1),
    (i8, -128, -1),
    (i8, 100, 100),
    (i8, -7, 2),
    (i8, 7, -2),
    (i8, 5, 0),
    (u8, 255, 1),
    (u8, 3, 5),
    (u8, 200, 7),
    (i16, -32768, -1),
    (i16, 300, 300),
    (u16, 65535, 65535),
    (i32, 2147483647, 1),
    (i32, -2147483648, -1),
    (i32, 65536, 65536),
    (i32, -7, 3),
    (i32, -9, 0),
    (u32, 4294967295, 4294967295),
    (u32, 0, 1),
    (u32, 4000000000, 7),
    (i64, 9223372036854775807, 1),
    (i64, -9223372036854775807 - 1, -1),
    (i64, -7, -2),
    (i64, 4294967296, 4294967297),
    (u64, 9223372036854775807, 3),
    (u64, 0, 1),
    (u64, 5, 0),
] {
    let x = full(T, [32], a);
    let y = full(T, [32], b);
    let [u, v] = [empty(T, [8, 32]), empty(T, [8, 32])];
    as_elements(x, y, a, b, u);
    by_elements(x, y, v);
    assert_eq(u, v);
}

/// `cast` of a number keeps the low bits, as that of a tensor does.
kernel narrowed(x: i32[n], i: i32, y: mut i32[n])
    where n == 32
    grid [1]
    threads 32
{
    let t = load(x[..32]);
    assert(cast(t, i8) == cast(i, i8), "i8");
    assert(cast(t, u8) == cast(i, u8), "u8");
    assert(cast(t, i16) == cast(i, i16), "i16");
    assert(cast(t, u16) == cast(i, u16), "u16");
    assert(cast(t, u32) == cast(i, u32), "u32");
    assert(cast(t, i64) == cast(i, i64), "i64");
    assert(cast(t, u64) == cast(i, u64), "u64");
    copy(cast(cast(t, i8), i32) + cast(cast(-i, u8), i32), y[..32]);
}

test "casts of numbers" for (i, want) in [(70000, 112 + 144), (-1, -1 + 1), (300, 44 + 212), (0, 0)] {
    let y = empty(i32, [32]);
    narrowed(full(i32, [32], i), i, y);
    assert_eq(y, full(i32, [32], want));
}

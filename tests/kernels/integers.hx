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

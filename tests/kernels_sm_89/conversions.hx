//! Conversions from and to floats of 8 bits, several values at a time and one by one.

kernel convert<BM = 4, BN = 256, T: type = f32, D: type = f8e4m3>(x: T[m, n], y: mut D[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 32
{
    let [bm, bn] = block_idx;
    copy(cast(load(tile(x, [BM, BN])[.., .., bm, bn]), D), tile(y, [BM, BN])[.., .., bm, bn]);
}

test "both ways" for (m, n) in [(4, 256), (7, 512), (5, 264), (3, 70), (3, 33)] {
    // Beyond the largest values too: they saturate.
    let x = randn(f32, [m, n], seed: 1) * 200.0;
    let w = randn(f32, [m, n], seed: 2) * 30000.0;
    let tiny = randn(f32, [m, n], seed: 3) * 0.01;
    let e4 = empty(f8e4m3, [m, n]);
    let e5 = empty(f8e5m2, [m, n]);
    let h = empty(f16, [m, n]);
    let b = empty(bf16, [m, n]);
    let s = empty(f32, [m, n]);
    let i = empty(i32, [m, n]);
    let xs = cast(x, f32);
    convert(xs, e4);
    assert_eq(e4, cast(xs, f8e4m3));
    convert(cast(w, f32), e5);
    assert_eq(e5, cast(cast(w, f32), f8e5m2));
    convert(e4, h);
    assert_eq(h, e4);
    convert(e4, b);
    assert_eq(b, e4);
    convert(e4, s);
    assert_eq(s, e4);
    convert(e5, h);
    assert_eq(h, e5);
    convert(e5, b);
    assert_eq(b, e5);
    convert(e5, s);
    assert_eq(s, e5);
    convert(cast(tiny, f32), e4);
    assert_eq(e4, cast(cast(tiny, f32), f8e4m3));
    let th = cast(tiny, f16);
    convert(th, e4);
    assert_eq(e4, cast(th, f8e4m3));
    convert(cast(x, f16), e5);
    assert_eq(e5, cast(cast(x, f16), f8e5m2));
    let xb = cast(x, bf16);
    convert(xb, e4);
    assert_eq(e4, cast(xb, f8e4m3));
    // By way of f32 where there is no instruction: from and to integers.
    convert(e4, i);
    assert_eq(i, where(e4 < 0.0, ceil(e4), floor(e4)));
    let whole = uniform(i32, [m, n], low: -600, high: 600, seed: 4);
    convert(whole, e4);
    assert_eq(e4, cast(whole, f8e4m3));
}

/// Arithmetic on 8-bit floats goes through f32 and rounds after each operator.
kernel scaled(x: f8e5m2[m, n], y: mut f8e5m2[m, n], s: f32)
    grid [cdiv(m, 4)]
    threads 64
{
    let a = load(tile(x, [4, 64])[.., .., block_idx, 0]);
    copy(cast(cast(a + a, f32) * s, f8e5m2), tile(y, [4, 64])[.., .., block_idx, 0]);
}

test "arithmetic" {
    let x = randn(f8e5m2, [10, 60], seed: 1);
    let y = empty(f8e5m2, [10, 60]);
    scaled(x, y, 0.75);
    assert_eq(y, cast(cast(x + x, f8e5m2) * 0.75, f8e5m2));
}

/// c[m, n] = a[m, k] · b[k, n] with `n` contiguous in `b`: bytes of a fragment lie in different rows of memory.
kernel n_contiguous<BM = 64, BN = 64, BK = 64>(a: f8e4m3[m, k], b: f8e4m3[k, n], c: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(f8e4m3, [BM, BK]);
    let sb = shared_tensor(f8e4m3, [BK, BN]);
    let rc = register_tensor(f32, [BM, BN]);
    fill(rc, 0.0);
    for ki in 0..cdiv(k, BK) {
        copy(tile(a, [BM, BK])[.., .., bm, ki], sa);
        copy(tile(b, [BK, BN])[.., .., ki, bn], sb);
        sync();
        gemm(rc, sa, sb.T);
        sync();
    }
    copy(rc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "fp8 with n contiguous" for (m, n, k) in [(64, 64, 64), (100, 80, 112), (33, 17, 50)] {
    let a = randn(f8e4m3, [m, k], seed: 1);
    let b = randn(f8e4m3, [k, n], seed: 2);
    let c = empty(f32, [m, n]);
    n_contiguous(a, b, c);
    // Warp groups of Hopper keep fewer digits of such a sum than f32 has.
    assert_close(c, a @ b, rtol: 1e-3, atol: 5e-3);
}

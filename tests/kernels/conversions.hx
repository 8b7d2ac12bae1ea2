//! Conversions between element types, several values at a time and one by one.

kernel convert<BM = 4, BN = 256, T: type = u4, D: type = f16>(x: T[m, n], y: mut D[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 32
{
    let [bm, bn] = block_idx;
    copy(cast(load(tile(x, [BM, BN])[.., .., bm, bn]), D), tile(y, [BM, BN])[.., .., bm, bn]);
}

/// Threads hold elements of several rows, none beside another.
kernel convert_single<BM = 32, BN = 2, T: type = u8, D: type = f16>(x: T[m, n], y: mut D[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 32
{
    let [bm, bn] = block_idx;
    copy(cast(load(tile(x, [BM, BN])[.., .., bm, bn]), D), tile(y, [BM, BN])[.., .., bm, bn]);
}

test "to floats" for (m, n) in [(4, 256), (7, 512), (5, 264), (3, 72)] {
    let h = empty(f16, [m, n]);
    let b = empty(bf16, [m, n]);
    let s = empty(f32, [m, n]);
    let u8s = uniform(u8, [m, n], low: 0, high: 256, seed: 1);
    let i8s = uniform(i8, [m, n], low: -128, high: 128, seed: 2);
    let u4s = uniform(u4, [m, n], low: 0, high: 16, seed: 3);
    let i4s = uniform(i4, [m, n], low: -8, high: 8, seed: 4);
    let u2s = uniform(u2, [m, n], low: 0, high: 4, seed: 5);
    let i2s = uniform(i2, [m, n], low: -2, high: 2, seed: 6);
    let u1s = uniform(u1, [m, n], low: 0, high: 2, seed: 7);
    let i1s = uniform(i1, [m, n], low: -1, high: 1, seed: 8);
    convert(u8s, h);
    assert_eq(h, u8s);
    convert(i8s, h);
    assert_eq(h, i8s);
    convert(u4s, h);
    assert_eq(h, u4s);
    convert(i4s, h);
    assert_eq(h, i4s);
    convert(u2s, h);
    assert_eq(h, u2s);
    convert(i2s, h);
    assert_eq(h, i2s);
    convert(u1s, h);
    assert_eq(h, u1s);
    convert(i1s, h);
    assert_eq(h, i1s);
    convert(u8s, b);
    assert_eq(b, u8s);
    convert(i8s, b);
    assert_eq(b, i8s);
    convert(u4s, b);
    assert_eq(b, u4s);
    convert(i4s, b);
    assert_eq(b, i4s);
    convert(u2s, b);
    assert_eq(b, u2s);
    convert(u8s, s);
    assert_eq(s, u8s);
    convert(i8s, s);
    assert_eq(s, i8s);
    convert(u4s, s);
    assert_eq(s, u4s);
    convert(i4s, s);
    assert_eq(s, i4s);
    convert(i1s, s);
    assert_eq(s, i1s);
}

test "between integers" for (m, n) in [(4, 256), (7, 512), (3, 72)] {
    let u4s = uniform(u4, [m, n], low: 0, high: 16, seed: 3);
    let i4s = uniform(i4, [m, n], low: -8, high: 8, seed: 4);
    let u = empty(u8, [m, n]);
    let i = empty(i8, [m, n]);
    convert(u4s, u);
    assert_eq(u, u4s);
    convert(u4s, i);
    assert_eq(i, u4s);
    convert(i4s, i);
    assert_eq(i, i4s);
    // Integers wrap.
    let packed = empty(u4, [m, n]);
    convert(i, packed);
    assert_eq(packed, where(i4s < 0, i4s + 16, i4s));
    let back = empty(i4, [m, n]);
    convert(u, back);
    assert_eq(back, where(u4s > 7, u4s - 16, u4s));
}

test "one by one" for (m, n) in [(32, 2), (45, 4)] {
    let u = uniform(u8, [m, n], low: 0, high: 256, seed: 1);
    let i = uniform(i8, [m, n], low: -128, high: 128, seed: 2);
    let h = empty(f16, [m, n]);
    convert_single(u, h);
    assert_eq(h, u);
    convert_single(i, h);
    assert_eq(h, i);
    // Toward zero, and within the range of the type.
    let x = uniform(f32, [m, n], low: -200.0, high: 200.0, seed: 3);
    let small = empty(i8, [m, n]);
    convert_single(x, small);
    let cut = where(x < 0.0, ceil(x), floor(x));
    assert_eq(small, where(cut > 127.0, 127.0, where(cut < -128.0, -128.0, cut)));
}

test "to narrow integers" for (m, n) in [(4, 256), (7, 512), (3, 72)] {
    let x = uniform(f32, [m, n], low: -30.0, high: 30.0, seed: 1);
    let cut = where(x < 0.0, ceil(x), floor(x));
    let i = empty(i4, [m, n]);
    convert(x, i);
    assert_eq(i, where(cut > 7.0, 7.0, where(cut < -8.0, -8.0, cut)));
    let u = empty(u4, [m, n]);
    convert(cast(cut, f16), u);
    assert_eq(u, where(cut > 15.0, 15.0, where(cut < 0.0, 0.0, cut)));
    let b = empty(u2, [m, n]);
    convert(cast(cut, bf16), b);
    assert_eq(b, where(cut > 3.0, 3.0, where(cut < 0.0, 0.0, cut)));
    let o = empty(u1, [m, n]);
    convert(x, o);
    assert_eq(o, where(cut > 1.0, 1.0, where(cut < 0.0, 0.0, cut)));
}

/// Two elements at a time; `s` is one for each row.
kernel pairs<BM = 8, BN = 64, T: type = f16>(x: T[m, n], z: T[m, n], s: T[m, 1], y: mut T[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 32
{
    let [bm, bn] = block_idx;
    let a = load(tile(x, [BM, BN])[.., .., bm, bn]);
    let b = load(tile(z, [BM, BN])[.., .., bm, bn]);
    let c = load(tile(s, [BM, 1])[.., .., bm, 0]);
    let d = fma(a, c, b) - 0.5;
    copy((d + a) * c + -b, tile(y, [BM, BN])[.., .., bm, bn]);
}

test "arithmetic on pairs" for (m, n) in [(8, 64), (13, 96), (5, 33)] {
    let x = randn(f16, [m, n], seed: 1);
    let z = randn(f16, [m, n], seed: 2);
    let s = randn(f16, [m, 1], seed: 3);
    let y = empty(f16, [m, n]);
    pairs(x, z, s, y);
    // A product rounds with its sum, every other operator by itself.
    let d = cast(cast(x * s + z, f16) - 0.5, f16);
    assert_eq(y, cast(cast(d + x, f16) * s - z, f16));
    let p = cast(x, bf16);
    let q = cast(z, bf16);
    let r = cast(s, bf16);
    let o = empty(bf16, [m, n]);
    pairs(p, q, r, o);
    let e = cast(cast(p * r + q, bf16) - 0.5, bf16);
    assert_eq(o, cast(cast(e + p, bf16) * r - q, bf16));
}

//! `bitcast` between types of different widths: the bits of a word as several narrower elements along an axis, and back.

/// Each element of `x` as `R` elements of `D`, along the last axis.
kernel narrower<BM = 8, BN = 64, R = 2, S: type = u32, D: type = f16>(x: S[m, n], y: mut D[m, p])
    where p == n * R, n % 8 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [i, j] = block_idx;
    copy(bitcast(load(tile(x, [BM, BN])[.., .., i, j]), D), tile(y, [BM, BN * R])[.., .., i, j]);
}

/// Each `R` neighbours of `x` as one element of `D`.
kernel wider<BM = 8, BN = 64, R = 2, S: type = f16, D: type = u32>(x: S[m, p], y: mut D[m, n])
    where p == n * R, n % 8 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [i, j] = block_idx;
    copy(bitcast(load(tile(x, [BM, BN * R])[.., .., i, j]), D), tile(y, [BM, BN])[.., .., i, j]);
}

/// The bits of rows: the parts of an element lie along the first axis.
kernel of_rows<BM = 8, BN = 32, R = 4, S: type = u32, D: type = u8>(
    x: S[m, n],
    y: mut D[q, n],
    z: mut S[m, n],
)
    where q == m * R, n % 16 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 32
{
    let [i, j] = block_idx;
    let parts = bitcast(load(tile(x, [BM, BN])[.., .., i, j]), D, axis: 0);
    copy(parts, tile(y, [BM * R, BN])[.., .., i, j]);
    copy(bitcast(parts, S, axis: 0), tile(z, [BM, BN])[.., .., i, j]);
}

/// Words of halves: the first half lies in the low bits.
test "the order of the halves" {
    let x = cast([[0x3c004000, 0xc2000001, 0, 0, 0, 0, 0, 0]], u32);
    let y = empty(f16, [1, 16]);
    narrower(x, y);
    assert_eq(cast(y[0, 0..3], f32), [2.0, 1.0, 1.0 / 16777216.0]);
    assert_eq(cast(y[0, 3], f32), -3.0);
    let z = empty(u32, [1, 8]);
    wider(y, z);
    assert_eq(z, x);
    let nibbles = empty(u4, [1, 64]);
    narrower<R = 8, D = u4>(x, nibbles);
    assert_eq(cast(nibbles[0, 0..16], i32), [0, 0, 0, 4, 0, 0, 12, 3, 1, 0, 0, 0, 0, 0, 2, 12]);
}

/// The bytes of `x`, `y` and `z` are the same ones in memory.
test "as memory has them" for (S, D, R) in [
    (u32, f16, 2),
    (i32, bf16, 2),
    (f32, u16, 2),
    (u32, u8, 4),
    (u32, f8e4m3, 4),
    (u32, u4, 8),
    (i32, i4, 8),
    (u32, f4e2m1, 8),
    (u8, f4e2m1, 2),
    (u8, u1, 8),
    (i16, i2, 8),
    (u64, f32, 2),
    (f64, u16, 4),
    (u64, i8, 8),
] {
    for (m, n) in [(8, 64), (5, 72), (1, 8)] {
        let words = cast(uniform(i32, [m, n, 8], low: 0, high: 256), u8);
        let x = bitcast(words, S)[.., .., 0];
        let y = empty(D, [m, n * R]);
        narrower<R = R, S = S, D = D>(x, y);
        assert_eq(bitcast(y, u8), bitcast(x, u8));
        let z = empty(S, [m, n]);
        wider<R = R, S = D, D = S>(y, z);
        assert_eq(bitcast(z, u8), bitcast(x, u8));
    }
}

test "along the first axis" for (S, D, R) in [
    (u32, u8, 4),
    (i32, f16, 2),
    (u16, i8, 2),
    (u8, u4, 2),
    (f64, f32, 2),
] {
    for (m, n) in [(8, 32), (11, 48)] {
        let words = cast(uniform(i32, [m, n, 8], low: 0, high: 256), u8);
        let x = bitcast(words, S)[.., .., 0];
        let (y, z) = (empty(D, [m * R, n]), empty(S, [m, n]));
        of_rows<R = R, S = S, D = D>(x, y, z);
        assert_eq(bitcast(y, u8), bitcast(bitcast(x, D, axis: 0), u8));
        assert_eq(bitcast(z, u8), bitcast(x, u8));
    }
}

/// The same width of less than a byte.
kernel of_one_width<S: type = i4, D: type = f4e2m1>(x: S[64], y: mut D[64], z: mut S[64])
    grid [1]
    threads 32
{
    let bits = bitcast(load(x), D);
    copy(bits, y);
    copy(bitcast(bits, S), z);
}

test "four bits" for (S, D) in [(i4, f4e2m1), (u4, f4e2m1), (u4, i4), (i2, u2)] {
    let x = cast(arange(i32, [64]) - 32, S);
    let (y, z) = (empty(D, [64]), empty(S, [64]));
    of_one_width<S = S, D = D>(x, y, z);
    assert_eq(bitcast(y, u8), bitcast(x, u8));
    assert_eq(z, x);
}

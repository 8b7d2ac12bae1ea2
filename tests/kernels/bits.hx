//! Operators on the bits of integers and of truth values, on tensors and on numbers of the block.

kernel binary<B = 128, T: type = i32>(x: T[n], y: T[n], by: T[n], out: mut T[6, n])
    grid [cdiv(n, B)]
    threads 64
{
    let [block] = block_idx;
    let a = load(tile(x, [B])[.., block]);
    let b = load(tile(y, [B])[.., block]);
    let s = load(tile(by, [B])[.., block]);
    let o = tile(out, [1, B])[0, .., .., block];
    copy(a & b, o[.., 0]);
    copy(a | b, o[.., 1]);
    copy(a ^ b, o[.., 2]);
    copy(a << s, o[.., 3]);
    copy(a >> s, o[.., 4]);
    copy(~a, o[.., 5]);
}

test "signed integers" for (T, bits) in [(i8, 8), (i16, 16), (i32, 32)] {
    let n = 1000;
    let top = 1 << bits - 1;
    let x = uniform(T, [n], low: -top, high: top, seed: 1);
    let y = uniform(T, [n], low: -top, high: top, seed: 2);
    let by = uniform(T, [n], low: 0, high: bits, seed: 3);
    let out = empty(T, [6, n]);
    binary(x, y, by, out);
    assert_eq(out[0], x & y);
    assert_eq(out[1], x | y);
    assert_eq(out[2], x ^ y);
    assert_eq(out[3], cast(x << by, T));
    assert_eq(out[4], x >> by);
    assert_eq(out[5], ~x);
}

test "unsigned integers" for (T, bits) in [(u8, 8), (u16, 16), (u32, 32)] {
    let n = 333;
    let x = uniform(T, [n], low: 0, high: 1 << bits, seed: 1);
    let y = uniform(T, [n], low: 0, high: 1 << bits, seed: 2);
    let by = uniform(T, [n], low: 0, high: min(bits, 31), seed: 3);
    let out = empty(T, [6, n]);
    binary(x, y, by, out);
    assert_eq(out[0], x & y);
    assert_eq(out[1], x | y);
    assert_eq(out[2], x ^ y);
    assert_eq(out[3], cast(x << by, T));
    assert_eq(out[4], x >> by);
    assert_eq(out[5], ~x);
}

test "64 bits, and shifts that move every bit out" {
    let x = cast([1, -1, 5, -5, 1 << 62, 7], i64);
    let y = cast([3, 3, -2, 6, 1 << 61, 0], i64);
    let by = cast([64, 64, 70, 63, 1, 0], i64);
    let out = empty(i64, [6, 6]);
    binary<T = i64>(x, y, by, out);
    assert_eq(out[0], x & y);
    assert_eq(out[1], x | y);
    assert_eq(out[2], x ^ y);
    assert_eq(out[3, 0..4], [0, 0, 0, -9223372036854775807 - 1]);
    assert_eq(out[3, 4..], [-9223372036854775807 - 1, 7]);
    assert_eq(out[4], x >> by);
    assert_eq(out[5], ~x);
}

/// Counts of bits and upper halves of products.
kernel words<B = 128, T: type = u32>(x: T[n], y: T[n], out: mut T[3, n])
    grid [cdiv(n, B)]
    threads 64
{
    let [block] = block_idx;
    let a = load(tile(x, [B])[.., block]);
    let b = load(tile(y, [B])[.., block]);
    let o = tile(out, [1, B])[0, .., .., block];
    copy(popcount(a), o[.., 0]);
    copy(clz(a), o[.., 1]);
    copy(mulhi(a, b), o[.., 2]);
}

test "counts and upper halves" for (T, low, high) in [
    (u32, 0, 1 << 32),
    (i32, -(1 << 31), 1 << 31),
    (i64, -(1 << 62), 1 << 62),
    (u64, 0, 1 << 62),
] {
    let x = uniform(T, [500], low: low, high: high, seed: 1);
    let y = uniform(T, [500], low: low, high: high, seed: 2);
    x[0..3] = [0, 1, 2];
    let out = empty(T, [3, 500]);
    words(x, y, out);
    assert_eq(out[0], popcount(x));
    assert_eq(out[1], clz(x));
    assert_eq(out[2], mulhi(x, y));
}

/// The bits of a float as an integer, with the sign cleared, and back.
kernel magnitude<B = 128, F: type = f32, I: type = u32>(x: F[n], mask: I, y: mut F[n], bits: mut I[n])
    grid [cdiv(n, B)]
    threads 64
{
    let [block] = block_idx;
    let word = bitcast(load(tile(x, [B])[.., block]), I);
    copy(word, tile(bits, [B])[.., block]);
    copy(bitcast(word & mask, F), tile(y, [B])[.., block]);
}

test "the bits of floats" for (F, I, mask) in [
    (f32, u32, 0x7fffffff),
    (f16, u16, 0x7fff),
    (bf16, u16, 0x7fff),
    (f32, i32, 0x7fffffff),
    (f16, i16, 0x7fff),
    (f64, i64, 0x7fffffffffffffff),
    (f8e4m3, u8, 0x7f),
    (f8e5m2, i8, 0x7f),
] {
    let x = randn(F, [777], seed: 1);
    let y = empty(F, [777]);
    let bits = empty(I, [777]);
    magnitude<I = I>(x, mask, y, bits);
    assert_eq(bits, bitcast(x, I));
    assert_eq(y, abs(x));
}

/// Truth values: elements whose sign or parity holds, but not both.
kernel either<B = 128>(x: i32[n], y: mut bool[n])
    grid [cdiv(n, B)]
    threads 64
{
    let [block] = block_idx;
    let v = load(tile(x, [B])[.., block]);
    let (odd, negative) = (v & 1 == 1, v < 0);
    copy((odd ^ negative) & ~(v == 3) | (v == 4), tile(y, [B])[.., block]);
}

test "truth values" {
    let x = uniform(i32, [300], low: -9, high: 10, seed: 1);
    let y = empty(bool, [300]);
    either(x, y);
    assert_eq(y, ((x & 1 == 1) ^ (x < 0)) & ~(x == 3) | (x == 4));
}

/// Tiles in the order of a butterfly: tile `i` comes from tile `i ^ distance`; rounds are counted in the bits of a number.
kernel butterfly<B = 64>(x: i32[n], y: mut i32[n], distance: i32, rounds: u32)
    where n % (8 * B) == 0
    grid [n / B]
    threads 64
{
    let [block] = block_idx;
    let v = load(tile(x, [B])[.., (block & ~7) + ((block ^ distance) & 7)]);
    let left = rounds;
    while left != 0 {
        if left & 1 == 1 {
            v += 1;
        }
        left >>= 1;
    }
    v += (1 << 4 | 3) ^ 2;
    copy(v, tile(y, [B])[.., block]);
}

test "numbers of the block" for distance in [0, 1, 4, 7, 9] {
    let x = arange(i32, [1024]);
    let y = empty(i32, [1024]);
    butterfly(x, y, distance, 0b1011);
    let tiles = x.reshape([2, 8, 64]);
    for i in 0..8 {
        assert_eq(y.reshape([2, 8, 64])[.., i], tiles[.., (i ^ distance) & 7] + 3 + 17);
    }
}

/// Reductions whose operator works on bits.
kernel folded<B = 256>(x: u32[n], y: mut u32[3])
    where n <= B
    grid [1]
    threads 64
{
    let inside = index(load(tile(x, [B])[.., 0]), 0) < n;
    let v = load(tile(x, [B])[.., 0]);
    let every = where(inside, v, ~cast(0, u32));
    copy(reduce(v, axis: 0, op: |a, b| a ^ b), y[0..1]);
    copy(reduce(v, axis: 0, op: |a, b| a | b), y[1..2]);
    copy(reduce(every, axis: 0, op: |a, b| a & b), y[2..3]);
}

test "reductions of bits" for n in [1, 100, 256] {
    let x = uniform(u32, [n], low: 0, high: 1 << 32, seed: n);
    let y = empty(u32, [3]);
    folded(x, y);
    assert_eq(y[0], reduce(cast(x, i64), axis: 0, op: |a, b| a ^ b));
    assert_eq(y[1], reduce(cast(x, i64), axis: 0, op: |a, b| a | b));
    assert_eq(y[2], reduce(cast(x, i64), axis: 0, op: |a, b| a & b));
}

/// Powers, and what is not a number.
kernel powers<B = 128, T: type = f32>(x: T[n], y: T[n], p: mut T[n], bad: mut bool[n])
    grid [cdiv(n, B)]
    threads 64
{
    let [block] = block_idx;
    let v = pow(load(tile(x, [B])[.., block]), load(tile(y, [B])[.., block]));
    copy(v, tile(p, [B])[.., block]);
    copy(isnan(where(v > 4.0, cast(nan, T), v)), tile(bad, [B])[.., block]);
}

test "powers and numbers that are none" for T in [f32, f64, f16] {
    let x = uniform(T, [400], low: 0.1, high: 3.0, seed: 1);
    let y = uniform(T, [400], low: -2.0, high: 4.0, seed: 2);
    x[0..4] = [-2.0, 0.0, -1.5, 2.0];
    y[0..4] = [3.0, 2.0, 0.5, 10.0];
    let p = empty(T, [400]);
    let bad = empty(bool, [400]);
    powers(x, y, p, bad);
    assert(isnan(p[2]));
    x[2] = 1.0;
    powers(x, y, p, bad);
    assert_close(p, pow(x, y), ulp: 4);
    assert_eq(bad, p > 4);
}

/// Shifts by counts of other types: of counters, of numbers of the launch and of tiles.
kernel shifts<B = 128, T: type = u32, C: type = i32>(x: T[n], by: C[n], m: T, k: C, y: mut T[10, n])
    grid [cdiv(n, B)]
    threads 64
{
    let [block] = block_idx;
    let v = load(tile(x, [B])[.., block]);
    let s = load(tile(by, [B])[.., block]);
    let o = tile(y, [1, B])[0, .., .., block];
    copy(v << s, o[.., 0]);
    copy(v >> s, o[.., 1]);
    copy(v << k, o[.., 2]);
    copy(v >> k, o[.., 3]);
    copy(m << s, o[.., 4]);
    copy(m >> s, o[.., 5]);
    copy(v ^ m << k, o[.., 6]);
    copy(v ^ m >> k, o[.., 7]);
    let total = m;
    for p in 0..3 {
        total <<= p;
        total ^= m << (2 * p);
    }
    copy(v ^ total, o[.., 8]);
    copy(v >> n, o[.., 9]);
}

test "counts of other types" for (T, bits) in [(u8, 8), (i8, 8), (u16, 16), (u32, 32), (i32, 32)] {
    for (C, low) in [(i8, -9), (u8, 0), (i16, -300), (i32, -300), (u32, 0), (i64, -300)] {
        let n = 300;
        let x = cast(uniform(i64, [n], low: 0, high: 1 << bits, seed: 1), T);
        let by = uniform(C, [n], low: low, high: bits + 3, seed: 2);
        let m = cast((1 << bits) - 3, T);
        // The host has 64 bits and refuses to lose any: the bits that the type loses are masked first.
        let wide = cast(where(by < 0, bits, min(by, bits)), i64);
        for k in [low, 0, 3, bits - 1, bits, bits + 2] {
            let y = empty(T, [10, n]);
            shifts(x, by, m, k, y);
            let by_k = where(k < 0, bits, min(k, bits));
            let left = cast((cast(x, i64) & (1 << bits - wide) - 1) << wide, T);
            assert_eq(y[0], left);
            assert_eq(y[1], x >> wide);
            assert_eq(y[2], cast((cast(x, i64) & (1 << bits - by_k) - 1) << by_k, T));
            assert_eq(y[3], x >> by_k);
            assert_eq(y[4], cast((m & (1 << bits - wide) - 1) << wide, T));
            assert_eq(y[5], cast(m >> wide, T));
            assert_eq(y[6], x ^ cast((m & (1 << bits - by_k) - 1) << by_k, T));
            assert_eq(y[7], x ^ cast(m >> by_k, T));
            let total = m;
            for p in 0..3 {
                total = (total << p) ^ (m << 2 * p);
            }
            assert_eq(y[8], x ^ cast(total, T));
            assert_eq(y[9], where(x < 0, -1, 0));
        }
    }
}

//! Random numbers from counters: each number depends on its position and a seed only, so that any thread computes any of them.

/// Four random words for the counter `(c0, c1, c2, c3)` and the key `(k0, k1)`: Philox 4x32 with ten rounds (Salmon et al.,
/// "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
fn philox(c0: u32, c1: u32, c2: u32, c3: u32, k0: u32, k1: u32) -> (u32, u32, u32, u32) {
    let (x0, x1, x2, x3) = (c0, c1, c2, c3);
    let (key0, key1) = (k0, k1);
    #[unroll]
    for _ in 0..10 {
        let (y0, y1) = (x0 * 0xD2511F53, x2 * 0xCD9E8D57);
        let (z0, z1) = (mulhi(x2, 0xCD9E8D57) ^ x1 ^ key0, mulhi(x0, 0xD2511F53) ^ x3 ^ key1);
        x0 = z0;
        x1 = y1;
        x2 = z1;
        x3 = y0;
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
    (x0, x1, x2, x3)
}

/// The four words of each column of counters and keys.
kernel philox_words<B = 128>(counters: u32[4, n], keys: u32[2, n], words: mut u32[4, n])
    grid [cdiv(n, B)]
    threads 128
{
    let [block] = block_idx;
    let c = tile(counters, [1, B])[0, .., .., block];
    let k = tile(keys, [1, B])[0, .., .., block];
    let out = tile(words, [1, B])[0, .., .., block];
    let (x0, x1, x2, x3) = philox(
        load(c[.., 0]),
        load(c[.., 1]),
        load(c[.., 2]),
        load(c[.., 3]),
        load(k[.., 0]),
        load(k[.., 1]),
    );
    copy(x0, out[.., 0]);
    copy(x1, out[.., 1]);
    copy(x2, out[.., 2]);
    copy(x3, out[.., 3]);
}

// The answers that Random123 1.14 lists in its file kat_vectors.
test "philox gives the known answers" {
    let counters = zeros(u32, [4, 3]);
    let keys = zeros(u32, [2, 3]);
    counters[.., 1] = 0xffffffff;
    keys[.., 1] = 0xffffffff;
    counters[.., 2] = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
    keys[.., 2] = [0xa4093822, 0x299f31d0];
    let words = empty(u32, [4, 3]);
    philox_words(counters, keys, words);
    assert_eq(words[.., 0], cast([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8], u32));
    assert_eq(words[.., 1], cast([0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd], u32));
    assert_eq(words[.., 2], cast([0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1], u32));
}

/// An evenly distributed number from 0 up to 1 for a random word, as Triton's `tl.rand` makes it.
fn uniform_of(word: u32) -> f32 {
    let x = bitcast(word, i32);
    cast(where(x < 0, -x - 1, x), f32) * 4.6566127342e-10
}

/// y = x / (1 - p) where a random number from 0 up to 1 is at least p, else 0: `p = 0` keeps all, and `p = 1` none. The number of element `4 · i + w` is word `w` of Philox for the counter
/// `i` and the seed, as Triton's `tl.rand4x(seed, i)` gives it.
#[accept(
    "narrow-access",
    "four neighbours are the four words of one Philox, and a warp reads whole lines of the cache",
)]
kernel dropout<B = 2048, T: type = f16>(x: T[n], y: mut T[n], p: f32, seed: u32)
    grid [cdiv(n, B)]
    threads 128
{
    let [block] = block_idx;
    let v = cast(load(global_view(x[block * B..], (B / 4, 4) : (4, 1))), f32);
    let counter = cast(index(v[.., 0..1], 0), u32) + cast(block * (B / 4), u32);
    let (w0, w1, w2, w3) = philox(counter, 0, 0, 0, seed, 0);
    let w = index(v, 1);
    let word = where(w == 0, w0, where(w == 1, w1, where(w == 2, w2, w3)));
    let scale = 1.0 / (1.0 - p);
    let kept = where(uniform_of(word) >= p, v * scale, 0.0);
    copy(cast(kept, T), global_view(y[block * B..], (B / 4, 4) : (4, 1)));
}

test "dropout keeps and scales what Philox picks" for (n, p, seed) in [
    (1000, 0.5, 123),
    (4099, 0.1, 7),
    (1, 0.9, 0),
] {
    let x = randn(f16, [n], seed: 1);
    let y = empty(f16, [n]);
    dropout(x, y, p, seed);
    // Philox in the host's integers, on counters (i / 4, 0, 0, 0) and the key (seed, 0).
    let (a, b) = (0xD2511F53, 0xCD9E8D57);
    let mask = 0xffffffff;
    let (x0, x1, x2, x3) = (cast(arange(i32, [n]), i64) >> 2, 0, 0, 0);
    let (k0, k1) = (seed, 0);
    for _ in 0..10 {
        let (low0, low2) = (x0 & 0xffff, x2 & 0xffff);
        let (high0, high2) = (x0 >> 16, x2 >> 16);
        let upper0 = high0 * a + (low0 * a >> 16) >> 16;
        let upper2 = high2 * b + (low2 * b >> 16) >> 16;
        let lower0 = low0 * a + ((high0 * a & 0xffff) << 16) & mask;
        let lower2 = low2 * b + ((high2 * b & 0xffff) << 16) & mask;
        x0 = upper2 ^ x1 ^ k0;
        x2 = upper0 ^ x3 ^ k1;
        x1 = lower2;
        x3 = lower0;
        k0 = k0 + 0x9E3779B9 & mask;
        k1 = k1 + 0xBB67AE85 & mask;
    }
    let w = arange(i32, [n]) & 3;
    let word = where(w == 0, x0, where(w == 1, x1, where(w == 2, x2, x3)));
    let half = where(word >= 1 << 31, mask - word, word);
    let kept = where(half * 4.6566127342e-10 >= p, x / (1.0 - p), 0.0);
    assert_close(y, kept, ulp: 1);
    assert(n == 1 || sum(cast(y == 0.0, i32)) > 0 && sum(cast(y == 0.0, i32)) < n);
}

// The random words of element 3 for the first seed and of element 1 for the second are 0.
test "p = 0 keeps all" for (seed, at) in [(1343428, 3), (293046734, 1)] {
    let x = randn(f16, [64], seed: 1);
    let y = empty(f16, [64]);
    dropout(x, y, 0.0, seed);
    assert(y[at] == x[at]);
    assert_eq(y, x);
}

test "p = 1 keeps none" {
    let x = randn(f16, [5000], seed: 1);
    x[0..4] = [inf, nan, 1.0, -inf];
    let y = empty(f16, [5000]);
    dropout(x, y, 1.0, 5);
    assert_eq(y, zeros(f16, [5000]));
}

bench "dropout 2²⁷" {
    let x = randn(f16, [134217728]);
    let y = empty(f16, [134217728]);
    measure bytes 2 * 2 * 134217728 { dropout(x, y, 0.1, 123) }
}

// 64 MiB of counters, 32 MiB of keys and 64 MiB of words.
bench "philox 2²² counters" {
    let counters = uniform(u32, [4, 4194304], low: 0, high: 4294967296);
    let keys = uniform(u32, [2, 4194304], low: 0, high: 4294967296);
    let words = empty(u32, [4, 4194304]);
    measure { philox_words(counters, keys, words) }
}

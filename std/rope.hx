//! Rotary position embedding.

/// Rotates the two halves of every head against each other: for each position `i` of the sequence and `j < D / 2`,
/// y[i, .., j] = x[i, .., j] · cos[i, j] - x[i, .., j + D / 2] · sin[i, j] and
/// y[i, .., j + D / 2] = x[i, .., j + D / 2] · cos[i, j] + x[i, .., j] · sin[i, j]. A block takes `BM` positions of `BH` heads.
kernel rope<BM = 8, BH = 4, D = 128, T: type = f16>(
    x: T[s, h, D],
    cos: f32[s, half],
    sin: f32[s, half],
    y: mut T[s, h, D],
)
    where half == D / 2
    grid [cdiv(s, BM), cdiv(h, BH)]
    threads 128
{
    let [bm, bh] = block_idx;
    let from = tile(x, [BM, BH, D / 2])[.., .., .., bm, bh, ..];
    let to = tile(y, [BM, BH, D / 2])[.., .., .., bm, bh, ..];
    let first = cast(load(from[.., .., .., 0]), f32);
    let second = cast(load(from[.., .., .., 1]), f32);
    let c = load(tile(cos, [BM, D / 2])[.., .., bm, 0][.., new, ..]);
    let s = load(tile(sin, [BM, D / 2])[.., .., bm, 0][.., new, ..]);
    copy(cast(first * c - second * s, T), to[.., .., .., 0]);
    copy(cast(second * c + first * s, T), to[.., .., .., 1]);
}

test "rope" for (s, h, d) in [(16, 4, 128), (21, 5, 64), (3, 1, 96)] {
    for T in [f16, bf16, f32] {
        let x = randn(T, [s, h, d], seed: 1);
        let angle = uniform(f32, [s, d / 2], seed: 2, low: -3.0, high: 3.0);
        let c = cast(cos(angle), f32);
        let n = cast(sin(angle), f32);
        let y = empty(T, [s, h, d]);
        rope(x, c, n, y);
        for i in 0..h {
            let a = x[.., i, ..d / 2];
            let b = x[.., i, d / 2..];
            assert_close(y[.., i, ..d / 2], a * c - b * n, ulp: 4);
            assert_close(y[.., i, d / 2..], b * c + a * n, ulp: 4);
        }
    }
}

test "rope moves 16 bytes at a time" {
    let x = randn(f16, [16, 8, 128], seed: 1);
    let c = randn(f32, [16, 64], seed: 2);
    let y = empty(f16, [16, 8, 128]);
    rope(x, c, c, y);
    assert(bytes_per_access("x") == 16 && bytes_per_access("y") == 16 && bytes_per_access("cos") == 16);
    assert(spills() == 0);
}

bench "rope 16384 × 32 × 128" {
    let x = randn(f16, [16384, 32, 128]);
    let c = randn(f32, [16384, 64]);
    let y = empty(f16, [16384, 32, 128]);
    measure bytes 2 * 2 * 16384 * 32 * 128 { rope(x, c, c, y) }
}

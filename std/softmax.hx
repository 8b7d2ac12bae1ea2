//! Softmax over rows that fit the registers of a block.

use std::math::LOG2E;

/// y[i, ..] = softmax(x[i, ..]), for rows of at most `BN` elements; a block takes `BM` rows.
///
/// ```hx
/// let x = randn(f16, [7, 1000]);
/// let y = empty(f16, [7, 1000]);
/// softmax(x, y);
/// assert_close(y, x.softmax(axis: 1), ulp: 2);
/// ```
///
/// Longer rows need a larger `BN`:
///
/// ```hx,should_fail
/// let x = randn(f16, [7, 1025]);
/// softmax(x, x.copy());
/// ```
kernel softmax<BM = 1, BN = 1024, T: type = f16>(x: T[m, n], y: mut T[m, n])
    where n <= BN
    grid [cdiv(m, BM)]
    threads max(32, min(1024, BM * BN / 32))
{
    let [bm] = block_idx;
    let row = cast(load(tile(x, [BM, BN], pad: -inf)[.., .., bm, 0]), f32);
    let top = max(row, axis: 1);
    let e = exp2((row - top) * LOG2E);
    let p = e * (1.0 / sum(e, axis: 1));
    copy(cast(p, T), tile(y, [BM, BN])[.., .., bm, 0]);
}

test "softmax of f16 rows" for (m, n) in [(1, 1024), (7, 1000), (33, 72)] {
    let x = randn(f16, [m, n], seed: 1);
    let y = empty(f16, [m, n]);
    softmax(x, y);
    let e = exp(x - max(x, axis: 1, keepdims: true));
    assert_close(y, e / sum(e, axis: 1, keepdims: true), ulp: 2);
}

test "softmax of f32 and bf16 rows, several to a block" for (m, n) in [(4, 256), (6, 200), (5, 129)] {
    let x = randn(f32, [m, n], seed: 2);
    let y = empty(f32, [m, n]);
    softmax<BM = 4, BN = 256>(x, y);
    let e = exp(x - max(x, axis: 1, keepdims: true));
    assert_close(y, e / sum(e, axis: 1, keepdims: true), rtol: 1e-5, atol: 1e-8);
    let z = empty(bf16, [m, n]);
    let b = cast(x, bf16);
    softmax<BM = 4, BN = 256>(b, z);
    let f = exp(b - max(b, axis: 1, keepdims: true));
    assert_close(z, f / sum(f, axis: 1, keepdims: true), ulp: 2);
}

test "softmax moves 16 bytes at a time" {
    let x = randn(f16, [4, 1024], seed: 1);
    let y = empty(f16, [4, 1024]);
    softmax(x, y);
    assert(bytes_per_access("x") == 16 && bytes_per_access("y") == 16);
    assert(spills() == 0);
}

bench "softmax 8192 × 8192" {
    let x = randn(f16, [8192, 8192]);
    let y = empty(f16, [8192, 8192]);
    measure bytes 2 * 2 * 8192 * 8192 { softmax<BN = 8192>(x, y) }
}

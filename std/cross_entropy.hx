//! Cross entropy of rows of logits, forward and backward.

use std::math::LN2;
use std::math::LOG2E;

/// loss[i] = log Σ exp(x[i, ..]) - x[i, label[i]] and lse[i] = log Σ exp(x[i, ..]). A row whose label is negative is left out: its loss
/// is 0, whatever its logits are. Logits of -inf are masked and add nothing. A label of `n` or more is none of the row: its loss is NaN.
/// A block takes a row, `BN` elements at a time, and reads it once: each thread has the maximum and the sum of its own elements until the
/// end of the row.
kernel cross_entropy<BN = 1024, T: type = f16>(x: T[m, n], label: i32[m], loss: mut f32[m], lse: mut f32[m])
    grid [m]
    threads max(32, min(1024, BN / 16))
{
    let row = block_idx;
    let found = label[row];
    let wanted = cast(load(tile(x, [1, 1], pad: nan)[.., .., row, max(found, 0)]), f32);
    let parts = max(32, min(1024, BN / 16));
    let top = register_tensor(f32, [parts, 1]);
    let total = register_tensor(f32, [parts, 1]);
    fill(top, -inf);
    fill(total, 0.0);
    for i in 0..cdiv(n, BN) {
        let tile_of_row = cast(load(tile(x[row], [BN], pad: -inf)[.., i]), f32);
        let part = reshape(tile_of_row, [parts, BN / parts]);
        let higher = max(top, max(part, axis: 1));
        // The difference of two infinities is NaN, so an infinite maximum is not subtracted.
        let base = where(abs(higher) == inf, 0.0, higher);
        total = total * exp2((top - base) * LOG2E) + sum(exp2((part - base) * LOG2E), axis: 1);
        top = higher;
    }
    let highest = max(top, axis: 0);
    let base = where(abs(highest) == inf, 0.0, highest);
    let all = highest + log2(sum(total * exp2((top - base) * LOG2E), axis: 0)) * LN2;
    copy(where(found < 0, 0.0, all - wanted), tile(loss[new, ..], [1, 1])[.., .., 0, row]);
    copy(all, tile(lse[new, ..], [1, 1])[.., .., 0, row]);
}

/// dx[i, j] = (exp(x[i, j] - lse[i]) - [j = label[i]]) · dloss[i], 0 in rows whose label is negative, and NaN in rows whose label is `n`
/// or more.
kernel cross_entropy_backward<BN = 2048, T: type = f16>(
    x: T[m, n],
    label: i32[m],
    lse: f32[m],
    dloss: f32[m],
    dx: mut T[m, n],
)
    grid [cdiv(n, BN), m]
    threads 128
{
    let [bn, row] = block_idx;
    let found = label[row];
    let g = if found < cast(n, i32) { dloss[row] } else { nan };
    let part = cast(load(tile(x, [1, BN])[.., .., row, bn]), f32);
    let p = exp2((part - lse[row]) * LOG2E);
    let d = where(index(part, 1) + bn * BN == found, p - 1.0, p) * g;
    copy(cast(where(found < 0, 0.0, d), T), tile(dx, [1, BN])[.., .., row, bn]);
}

test "cross_entropy" for (m, n) in [(3, 1024), (5, 3000), (2, 77), (4, 4096)] {
    for T in [f16, bf16, f32] {
        let x = cast(randn(T, [m, n], seed: 1) * 2.0, T);
        let label = cast(uniform(f32, [m], seed: 2, low: -0.4 * n, high: n - 1.0), i32);
        let g = randn(f32, [m], seed: 3);
        let loss = empty(f32, [m]);
        let lse = empty(f32, [m]);
        let dx = empty(T, [m, n]);
        cross_entropy(x, label, loss, lse);
        let top = max(x, axis: 1, keepdims: true);
        let all = top + log(sum(exp(x - top), axis: 1, keepdims: true));
        assert_close(lse, all[.., 0], rtol: 1e-5, atol: 1e-5);
        cross_entropy_backward(x, label, lse, g, dx);
        let p = exp(x - all);
        for i in 0..m {
            let at = label[i];
            if at < 0 {
                assert(loss[i] == 0.0);
                assert(max(abs(dx[i])) == 0.0);
            } else {
                assert_close(loss[i..i + 1], all[i] - x[i, at], rtol: 1e-5, atol: 2e-5);
                let d = (p[i] - where(arange(f64, n) == at, 1.0, 0.0)) * g[i];
                assert_close(dx[i], d, rtol: if T == bf16 { 8e-3 } else { 1e-3 }, atol: 1e-5);
            }
        }
    }
}

test "masked and infinite logits" for T in [f16, f32] {
    let n = 2048;
    let x = cast(randn(f32, [7, n], seed: 1) * 2.0, T);
    x[0, 0..1024] = -inf;
    x[1, 5..n] = -inf;
    x[2, 0..n] = -inf;
    x[3, 7] = inf;
    x[4, 9] = nan;
    x[5, 1500] = inf;
    x[6, 0..n - 1] = -inf;
    let label = cast([1500, 3, -1, -100, -1, 2, n - 1], i32);
    let g = cast([1.0, 2.0, inf, nan, 1.0, 1.0, 3.0], f32);
    let (loss, lse, dx) = (empty(f32, [7]), empty(f32, [7]), empty(T, [7, n]));
    cross_entropy(x, label, loss, lse);
    cross_entropy_backward(x, label, lse, g, dx);
    let some = [0, 1, 6];
    for i in some {
        let top = max(x[i]);
        let all = top + log(sum(exp(x[i] - top)));
        assert_close(lse[i], all, atol: 1e-5);
        assert_close(loss[i], all - x[i, label[i]], atol: 2e-5);
        let d = (exp(x[i] - all) - where(arange(i64, [n]) == label[i], 1.0, 0.0)) * g[i];
        assert_close(dx[i], d, rtol: 1e-3, atol: 1e-5);
    }
    // Rows that are left out have no loss and no gradient, whatever is in them.
    for i in 2..5 {
        assert(loss[i] == 0.0);
        assert_eq(dx[i], zeros(T, [n]));
    }
    assert(lse[2] == -inf && lse[5] == inf && loss[5] == inf);
}

test "a label that the row does not have" for n in [2048, 1000] {
    let x = randn(f16, [3, n], seed: 1);
    let label = cast([n, 2147483647, n - 1], i32);
    let (loss, lse, dx) = (empty(f32, [3]), empty(f32, [3]), empty(f16, [3, n]));
    cross_entropy(x, label, loss, lse);
    cross_entropy_backward(x, label, lse, ones(f32, [3]), dx);
    assert(isnan(loss[0]) && isnan(loss[1]) && isfinite(loss[2]) && isfinite(lse[0]));
    assert(all(isnan(dx[0])) && all(isnan(dx[1])) && all(isfinite(dx[2])));
}

test "cross_entropy moves 16 bytes at a time" {
    let x = randn(f16, [2, 4096], seed: 1);
    let label = zeros(i32, [2]);
    let loss = empty(f32, [2]);
    let dx = empty(f16, [2, 4096]);
    let lse = empty(f32, [2]);
    cross_entropy(x, label, loss, lse);
    assert(spills() == 0);
    cross_entropy_backward(x, label, lse, loss, dx);
    assert(bytes_per_access("x") == 16 && bytes_per_access("dx") == 16);
    assert(spills() == 0);
}

bench "cross_entropy 8192 × 32768" {
    let x = randn(f16, [8192, 32768]);
    let label = zeros(i32, [8192]);
    let loss = empty(f32, [8192]);
    let lse = empty(f32, [8192]);
    let dx = empty(f16, [8192, 32768]);
    measure bytes 2 * 8192 * 32768 { cross_entropy<BN = 4096>(x, label, loss, lse) }
    measure bytes 2 * 2 * 8192 * 32768 { cross_entropy_backward(x, label, lse, loss, dx) }
}

//! FlashAttention forward in 8-bit floats for warp groups.
//!
//! Instructions for 8-bit floats read both operands along K. K of the second product is the keys, and values lie along the heads in
//! memory. So a role of its own turns each block of values, while other groups multiply.

use std::attention_hopper::attention_hopper;
use std::attention_roles::{blocks, feed, hide, soften};
use std::math::LOG2E;

/// Weights reach 2 to this power, so that small ones keep more bits in an `f8e4m3`. The sums have the same factor.
const RANGE = 8;

/// Returns the weights in 8 bits, with the keys in another order: of 16 keys, key `8 a + 2 t + b` comes to place `4 t + 2 a + b`. A
/// thread that has the weights of two neighbouring keys has four in this order, as the operand of a product wants them: no thread asks
/// another one. `rearrange` brings them to the order of its registers before they are converted, four to a register.
fn in_fours<N = 128>(p: register f32[M, N]) -> register f8e4m3[M, N] {
    cast(rearrange(reshape(permute(reshape(p, [M, N / 16, 2, 4, 2]), [0, 1, 3, 2, 4]), [M, N]), auto), f8e4m3)
}

/// Returns number `at` of a list.
fn number(list: f32[n], at: i64) -> f32 { scalar(load(tile(list, [1])[.., at])) }

/// Turns `n` blocks of values, with the keys in the order of `in_fours`.
fn turn_values(
    sv: shared f8e4m3[N, D, 2],
    turned: shared mut f8e4m3[D, N, 2],
    values: pipeline,
    ready: pipeline,
    n: i64,
) {
    for _ in 0..n {
        let i = values.wait();
        let x = load(permute(reshape(sv[.., .., i], [N / 16, 2, 4, 2, D]), [4, 0, 2, 1, 3]));
        values.release();
        let j = ready.acquire();
        copy(reshape(x, [D, N]), turned[.., .., j]);
        ready.publish();
    }
}

/// o = softmax(scale · q·kᵀ) · v for `q: [batch, heads, s, D]` and grouped `k`, `v: [batch, kv_heads, t, D]` in `f8e4m3`, with a positive
/// `scale`. The numbers that they stand for are `q` times `q_scale[batch, kv_head]`, and so on; no scale is negative.
///
/// A block has `GROUPS` · 64 queries. With `CAUSAL`, queries are aligned to the end of the keys: query `i` sees the keys up to
/// `i + t - s`. A row that sees nothing is zero. Scores and sums are `f32`, weights are `f8e4m3`.
///
/// A launch that does not give `BN` runs the member of the family that is fastest for its shape by the cost model.
#[family(attention_fp8, attention_fp8<BN = 64>, attention_fp8<BN = 192>)]
kernel attention_fp8<D = 128, GROUPS = 2, BN = 128, CAUSAL = true, T: type = bf16>(
    q: f8e4m3[b, h, s, D],
    k: f8e4m3[b, hk, t, D],
    v: f8e4m3[b, hk, t, D],
    q_scale: f32[b, hk],
    k_scale: f32[b, hk],
    v_scale: f32[b, hk],
    o: mut T[b, h, s, D],
    scale: f32,
)
    where h % hk == 0, BN % 32 == 0, D % 32 == 0
    tune GROUPS in 1..=3, BN in 64..=256 step 32
    grid [cdiv(s, 64 * GROUPS), h, b]
{
    let [late, head, batch] = block_idx;
    let kv_head = head / max(h / max(hk, 1), 1);
    // With `CAUSAL` the last queries see the most keys, so they come first.
    let bm = if CAUSAL { cdiv(s, 64 * GROUPS) - 1 - late } else { late };
    let seen = blocks<CAUSAL = CAUSAL, BN = BN>(bm * 64 * GROUPS + t - s, 64 * GROUPS, t);
    let sq = shared_tensor(f8e4m3, [64, D, GROUPS]);
    let (sk, sv) = (shared_tensor(f8e4m3, [BN, D, 2]), shared_tensor(f8e4m3, [BN, D, 2]));
    let turned = shared_tensor(f8e4m3, [D, BN, 2]);
    let so = shared_tensor(T, [64, D, GROUPS]);
    let (queries, keys, values, ready) = (pipeline(1), pipeline(2), pipeline(2), pipeline(2));
    let turn = turns();
    warp_groups {
        producer {
            feed(
                q[batch, head],
                k[batch, kv_head],
                v[batch, kv_head],
                sq,
                sk,
                sv,
                (queries, keys, values),
                bm,
                seen,
            );
        }
        consumer registers 56 {
            turn_values(sv, turned, values, ready, seen[1]);
        }
        consumer each GROUPS (g) {
            let (last, n, late, _) = seen;
            let scales = scale * number(q_scale[batch], kv_head) * number(k_scale[batch], kv_head) * LOG2E;
            // The scale of a head of zeros may be 0, and -inf times 0 is no number.
            let factor = if scales == 0.0 { 1.0e-30 } else { scales };
            let row = cast((bm * GROUPS + g) * 64 + t - s, i32);
            let length = cast(t, i32);
            let acc = register_tensor(f32, [64, D]);
            let x = register_tensor(f32, [64, BN]);
            let top = register_tensor(f32, [64, 1]);
            let total = register_tensor(f32, [64, 8]);
            let fade = register_tensor(f32, [64, 1]);
            fill(acc, 0.0);
            // Finite, so that a row that sees nothing stays zero.
            fill(top, -1.0e30);
            fill(total, 0.0);
            queries.wait();
            let i = keys.wait();
            fill(x, 0.0);
            gemm_async(x, sq[.., .., g], sk[.., .., i]);
            gemm_wait(0);
            keys.release();
            hide<CAUSAL = CAUSAL>(x, row, cast((last - 1) * BN, i32), length);
            soften<N = BN, RANGE = RANGE>(x, top, total, fade, factor);
            let p = in_fours<N = BN>(x);
            #[peel]
            for j in 1..n {
                let i = keys.wait();
                // While one group computes its weights, another one multiplies.
                turn.take();
                fill(x, 0.0);
                gemm_async(x, sq[.., .., g], sk[.., .., i]);
                let i = ready.wait();
                gemm_async(acc, p, turned[.., .., i]);
                turn.pass();
                gemm_wait(1);
                keys.release();
                if j < late {
                    hide<CAUSAL = CAUSAL>(x, row, cast((last - 1 - j) * BN, i32), length);
                }
                soften<N = BN, RANGE = RANGE>(x, top, total, fade, factor);
                gemm_wait(0);
                ready.release();
                acc = acc * fade;
                p = in_fours<N = BN>(x);
            }
            let i = ready.wait();
            gemm_async(acc, p, turned[.., .., i]);
            gemm_wait(0);
            ready.release();
            let whole = sum(total, axis: 1);
            let norm = where(whole == 0.0, 0.0, number(v_scale[batch], kv_head) / whole);
            queries.release();
            copy(cast(acc * norm, T), so[.., .., g]);
            sync();
            copy_async(so[.., .., g], tile(o[batch, head], [64, D])[.., .., bm * GROUPS + g, 0]);
        }
    }
}

test "attention in 8 bits agrees with the reference" for (s, t, causal) in [
    (128, 128, false),
    (128, 128, true),
    (72, 100, false),
    (200, 300, true),
] {
    let q = cast(randn(f32, [2, 2, s, 64], seed: 1), f8e4m3);
    let k = cast(randn(f32, [2, 1, t, 64], seed: 2), f8e4m3);
    let v = cast(randn(f32, [2, 1, t, 64], seed: 3), f8e4m3);
    let q_scale = uniform(f32, [2, 1], low: 0.5, high: 1.5, seed: 4);
    let k_scale = uniform(f32, [2, 1], low: 0.5, high: 1.5, seed: 5);
    let v_scale = uniform(f32, [2, 1], low: 0.5, high: 1.5, seed: 6);
    let o = empty(bf16, [2, 2, s, 64]);
    attention_fp8<BN = 64, D = 64, CAUSAL = causal>(q, k, v, q_scale, k_scale, v_scale, o, 0.125);
    assert(redistributions() == 0 && spills() == 0);
    assert(uses("wgmma") && uses("ldmatrix.x4.trans.b8") && uses("stmatrix.x4") && uses("tma.store"));
    let row = reshape(arange(i64, [s]), [s, 1]) + (t - s);
    let col = reshape(arange(i64, [t]), [1, t]);
    for i in 0..2 {
        for h in 0..2 {
            let x = cast(q[i, h], f32) @ cast(k[i, 0], f32).T * (0.125 * q_scale[i, 0] * k_scale[i, 0]);
            let y = if causal { where(col <= row, x, -inf) } else { x };
            let right = softmax(y, axis: 1) @ cast(v[i, 0], f32) * v_scale[i, 0];
            assert_close(o[i, h], right, rtol: 6e-2, atol: 3e-2);
        }
    }
}

test "heads of 32 to 256, three groups, blocks of 96 keys" for (d, groups, bn, causal) in [
    (32, 3, 96, true),
    (128, 2, 128, false),
    (256, 1, 64, true),
] {
    let (s, t) = (150, 170);
    let q = cast(randn(f32, [1, 2, s, d], seed: 1), f8e4m3);
    let k = cast(randn(f32, [1, 2, t, d], seed: 2), f8e4m3);
    let v = cast(randn(f32, [1, 2, t, d], seed: 3), f8e4m3);
    let one = ones(f32, [1, 2]);
    let o = empty(f16, [1, 2, s, d]);
    attention_fp8<D = d, GROUPS = groups, BN = bn, CAUSAL = causal>(q, k, v, one, one, one, o, 0.1);
    assert(redistributions() == 0 && (d > 128 || spills() == 0));
    let row = reshape(arange(i64, [s]), [s, 1]) + (t - s);
    let col = reshape(arange(i64, [t]), [1, t]);
    for h in 0..2 {
        let x = q[0, h] @ k[0, h].T * 0.1;
        let y = if causal { where(col <= row, x, -inf) } else { x };
        assert_close(o[0, h], softmax(y, axis: 1) @ v[0, h], rtol: 6e-2, atol: 3e-2);
    }
}

test "heads of 256 without a block of keys" {
    let q = cast(randn(f32, [1, 1, 40, 256], seed: 1), f8e4m3);
    let one = ones(f32, [1, 1]);
    let o = empty(bf16, [1, 1, 40, 256]);
    attention_fp8<CAUSAL = false>(q, q, q, one, one, one, o, 0.0625);
    assert_close(o[0, 0], softmax(q[0, 0] @ q[0, 0].T * 0.0625, axis: 1) @ q[0, 0], rtol: 6e-2, atol: 6e-2);
}

test "rows that see no key are zero, in 8 bits" {
    let q = cast(randn(f32, [1, 1, 96, 64], seed: 1), f8e4m3);
    let k = cast(randn(f32, [1, 1, 40, 64], seed: 2), f8e4m3);
    let one = ones(f32, [1, 1]);
    let o = empty(bf16, [1, 1, 96, 64]);
    attention_fp8<BN = 64, D = 64>(q, k, k, one, one, one, o, 0.125);
    assert_eq(o[0, 0, ..56], zeros(bf16, [56, 64]));
}

test "heads of zeros with the scale 0" {
    let v = cast(randn(f32, [1, 1, 40, 64], seed: 1), f8e4m3);
    let zero = cast(zeros(f32, [1, 1, 40, 64]), f8e4m3);
    let (none, one) = (zeros(f32, [1, 1]), ones(f32, [1, 1]));
    let o = empty(f16, [1, 1, 40, 64]);
    attention_fp8<BN = 64, D = 64>(zero, zero, v, one, none, one, o, 0.125);
    let (row, col) = (reshape(arange(i64, [40]), [40, 1]), reshape(arange(i64, [40]), [1, 40]));
    let p = where(col <= row, 1.0 / (row + 1), 0.0);
    assert_close(o[0, 0], p @ v[0, 0], rtol: 6e-2, atol: 3e-2);
}

/// Of the inputs, one number in a thousand is ten times as large as normal ones. The largest number of a tensor becomes the largest of
/// its type. Most of the error is that of the inputs: products of 16 bits of the same numbers have it too.
test "errors of 8 and of 16 bits, normal inputs with outliers" {
    let x = randn(f32, [3, 1, 1, 512, 128], seed: 1);
    let y = where(uniform(f32, [3, 1, 1, 512, 128], seed: 2) < 0.001, x * 10.0, x);
    let (q, k, v) = (y[0], y[1], y[2]);
    let (a, b, c) = (max(abs(q)) / 448.0, max(abs(k)) / 448.0, max(abs(v)) / 448.0);
    let (q8, k8, v8) = (cast(q / a, f8e4m3), cast(k / b, f8e4m3), cast(v / c, f8e4m3));
    let right = softmax(q[0, 0] @ k[0, 0].T * 0.0884, axis: 1) @ v[0, 0];
    let scale_of = [full(f32, [1, 1], a), full(f32, [1, 1], b), full(f32, [1, 1], c)];
    let results = zeros(f32, [3, 512, 128]);
    let (o, o8) = (empty(f16, [1, 1, 512, 128]), empty(bf16, [1, 1, 512, 128]));
    attention_hopper<GROUPS = 2, BN = 128, CAUSAL = false>(
        cast(q, f16),
        cast(k, f16),
        cast(v, f16),
        o,
        0.0884,
    );
    results[0] = cast(o[0, 0], f32);
    attention_hopper<GROUPS = 2, BN = 128, CAUSAL = false>(
        cast(q8 * a, f16),
        cast(k8 * b, f16),
        cast(v8 * c, f16),
        o,
        0.0884,
    );
    results[1] = cast(o[0, 0], f32);
    attention_fp8<CAUSAL = false>(q8, k8, v8, scale_of[0], scale_of[1], scale_of[2], o8, 0.0884);
    results[2] = cast(o8[0, 0], f32);
    let off = results - right;
    let errors = sqrt(mean(mean(off * off, axis: 2), axis: 1) / mean(right * right));
    print("relative errors: f16, f16 of the numbers in 8 bits, f8e4m3:", errors);
    assert(errors[2] < 1.5 * errors[1], "the weights in 8 bits add less than half");
}

bench "attention in 8 bits, 2 × 16 heads of 128, 8192 positions" for causal in [false, true] {
    let shape = [2, 16, 8192, 128];
    let q = randn(f16, shape, seed: 1);
    let k = randn(f16, shape, seed: 2);
    let v = randn(f16, shape, seed: 3);
    let (o, half) = (empty(bf16, shape), empty(f16, shape));
    let one = ones(f32, [2, 16]);
    let (a, b, c) = (cast(q, f8e4m3), cast(k, f8e4m3), cast(v, f8e4m3));
    let work = (if causal { 2 } else { 4 }) * 32 * 8192 * 8192 * 128;
    measure flops work { attention_fp8<CAUSAL = causal>(a, b, c, one, one, one, o, 0.0884) }
    baseline attention_hopper<CAUSAL = causal>(q, k, v, half, 0.0884);
}

//! FlashAttention forward for warp groups. The bodies of the roles are those of `attention_roles`.

use std::attention_persistent::attention_persistent;
use std::attention_roles::{attend, blocks, feed, unchanged};
use std::math::LOG2E;

/// o = softmax(scale · q·kᵀ) · v for `q: [batch, heads, s, D]` and grouped `k`, `v: [batch, kv_heads, t, D]`, with a positive `scale`.
///
/// As `attention`, for `sm_90a`. A block has `GROUPS` · 64 queries. With `CAUSAL`, queries are aligned to the end of the keys: query
/// `i` sees the keys up to `i + t - s`. A row that sees nothing is zero.
///
/// With `WINDOW`, a query sees the keys less than `WINDOW` positions away from its own, `i + t - s`: behind it, and without `CAUSAL` on
/// both sides. Other blocks of keys are not read.
///
/// `SCORE(x, batch, head, query, key)` replaces each scaled score `x` before the softmax: a cap, or a bias by the positions of the query
/// and the key.
///
/// A launch that gives neither `GROUPS` nor `BN` runs the member of the family that is fastest for its shape by the cost model.
#[family(
    attention_hopper,
    attention_hopper<GROUPS = 1>,
    attention_persistent,
    attention_persistent<GROUPS = 1>,
    attention_persistent<GROUPS = 1, BN = 64>,
    attention_persistent<GROUPS = 2, BN = 64>,
    attention_persistent<GROUPS = 2, BN = 128>,
    attention_persistent<GROUPS = 2, BN = 160>,
)]
kernel attention_hopper<
    D = 128,
    GROUPS = if D > 64 { 2 } else { 3 },
    BN = if D > 192 { 80 } else if D > 128 { 112 } else { 128 },
    CAUSAL = true,
    WINDOW = 0,
    SCORE: fn = unchanged,
    T: type = f16,
>(q: T[b, h, s, D], k: T[b, hk, t, D], v: T[b, hk, t, D], o: mut T[b, h, s, D], scale: f32)
    where h % hk == 0, WINDOW >= 0
    tune GROUPS in 1..=4, BN in 32..=256 step 16
    grid [cdiv(s, 64 * GROUPS), h, b]
{
    let [late, head, batch] = block_idx;
    // A block has heads, so both are at least 1: without a divisor of 0 there is nothing to guard.
    let kv_head = head / max(h / max(hk, 1), 1);
    // With `CAUSAL` the last queries see the most keys, so they come first.
    let bm = if CAUSAL { cdiv(s, 64 * GROUPS) - 1 - late } else { late };
    let seen = blocks<CAUSAL = CAUSAL, WINDOW = WINDOW, BN = BN>(bm * 64 * GROUPS + t - s, 64 * GROUPS, t);
    let sq = shared_tensor(T, [64, D, GROUPS]);
    let (sk, sv) = (shared_tensor(T, [BN, D, 2]), shared_tensor(T, [BN, D, 2]));
    let (queries, keys, values) = (pipeline(1), pipeline(2), pipeline(2));
    let (rings, turn) = ((queries, keys, values), turns());
    warp_groups {
        producer {
            feed(q[batch, head], k[batch, kv_head], v[batch, kv_head], sq, sk, sv, rings, bm, seen);
        }
        consumer each GROUPS (g) {
            let acc = register_tensor(f32, [64, D]);
            let place = (batch, head, (bm * GROUPS + g) * 64 + t - s);
            let norm = attend<SCORE = SCORE, CAUSAL = CAUSAL, WINDOW = WINDOW, ROWS = 64 * GROUPS, BN = BN>(
                acc,
                sq[.., .., g],
                sk,
                sv,
                rings,
                turn,
                place,
                t,
                seen,
                scale,
            );
            // The queries of the group are read, and leave their place to its output.
            sync();
            copy(cast(acc * norm, T), sq[.., .., g]);
            sync();
            copy_async(sq[.., .., g], tile(o[batch, head], [64, D])[.., .., bm * GROUPS + g, 0]);
            queries.release();
        }
    }
}

test "attention of warp groups agrees with the reference" for (s, t, causal) in [
    (128, 128, false),
    (128, 128, true),
    (72, 100, false),
    (200, 300, true),
] {
    let q = randn(f16, [2, 2, s, 64], seed: 1);
    let k = randn(f16, [2, 1, t, 64], seed: 2);
    let v = randn(f16, [2, 1, t, 64], seed: 3);
    let o = empty(f16, [2, 2, s, 64]);
    attention_hopper<BN = 64, D = 64, CAUSAL = causal>(q, k, v, o, 0.125);
    let row = reshape(arange(i64, [s]), [s, 1]) + (t - s);
    let col = reshape(arange(i64, [t]), [1, t]);
    for i in 0..2 {
        for h in 0..2 {
            let x = q[i, h] @ k[i, 0].T * 0.125;
            let y = if causal { where(col <= row, x, -inf) } else { x };
            assert_close(o[i, h], softmax(y, axis: 1) @ v[i, 0], rtol: 5e-3, atol: 2e-3);
        }
    }
}

test "heads of any multiple of 16 to 256" for (d, causal) in [
    (96, false),
    (112, true),
    (192, true),
    (256, false),
] {
    let q = randn(f16, [1, 2, 130, d], seed: 1);
    let k = randn(f16, [1, 1, 140, d], seed: 2);
    let v = randn(f16, [1, 1, 140, d], seed: 3);
    let o = empty(f16, [1, 2, 130, d]);
    attention_hopper<D = d, CAUSAL = causal>(q, k, v, o, 0.08);
    assert(redistributions() == 0 && spills() == 0);
    let row = reshape(arange(i64, [130]), [130, 1]) + 10;
    let col = reshape(arange(i64, [140]), [1, 140]);
    for h in 0..2 {
        let x = q[0, h] @ k[0, 0].T * 0.08;
        let y = if causal { where(col <= row, x, -inf) } else { x };
        assert_close(o[0, h], softmax(y, axis: 1) @ v[0, 0], rtol: 5e-3, atol: 2e-3);
    }
}

test "three groups, heads of 128, bf16" for (groups, d, causal) in [(3, 64, true), (2, 128, false)] {
    let q = randn(bf16, [1, 1, 130, d], seed: 1);
    let k = randn(bf16, [1, 1, 140, d], seed: 2);
    let v = randn(bf16, [1, 1, 140, d], seed: 3);
    let o = empty(bf16, [1, 1, 130, d]);
    attention_hopper<GROUPS = groups, BN = 64, D = d, CAUSAL = causal>(q, k, v, o, 0.125);
    assert(redistributions() == 0 && spills() == 0);
    let row = reshape(arange(i64, [130]), [130, 1]) + 10;
    let col = reshape(arange(i64, [140]), [1, 140]);
    let x = q[0, 0] @ k[0, 0].T * 0.125;
    let y = if causal { where(col <= row, x, -inf) } else { x };
    assert_close(o[0, 0], softmax(y, axis: 1) @ v[0, 0], rtol: 3e-2, atol: 2e-2);
}

test "rows that see no key are zero" {
    let q = randn(f16, [1, 1, 96, 64], seed: 1);
    let k = randn(f16, [1, 1, 40, 64], seed: 2);
    let v = randn(f16, [1, 1, 40, 64], seed: 3);
    let o = empty(f16, [1, 1, 96, 64]);
    attention_hopper<BN = 64, D = 64>(q, k, v, o, 0.125);
    assert_eq(o[0, 0, 0..56], zeros(f16, [56, 64]));
    let row = reshape(arange(i64, [40]), [40, 1]);
    let col = reshape(arange(i64, [40]), [1, 40]);
    let x = where(col <= row, q[0, 0, 56..96] @ k[0, 0].T * 0.125, -inf);
    assert_close(o[0, 0, 56..96], softmax(x, axis: 1) @ v[0, 0], rtol: 5e-3, atol: 2e-3);
}

test "windows" for (s, t, d, window, causal) in [
    // Windows that cut blocks, that are whole blocks, and that are larger than all keys.
    (200, 300, 64, 50, true),
    (130, 330, 192, 128, true),
    (100, 90, 192, 128, true),
    (200, 300, 64, 50, false),
    (260, 200, 64, 50, false),
] {
    let q = randn(f16, [1, 2, s, d], seed: 1);
    let k = randn(f16, [1, 1, t, d], seed: 2);
    let v = randn(f16, [1, 1, t, d], seed: 3);
    let o = empty(f16, [1, 2, s, d]);
    attention_hopper<GROUPS = 2, BN = 64, D = d, CAUSAL = causal, WINDOW = window>(q, k, v, o, 0.125);
    assert(uses("wgmma") == supports("wgmma") && uses("tma.load") && uses("tma.store"));
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    // How far a key lies behind the query.
    let behind = reshape(arange(i64, [s]), [s, 1]) + (t - s) - reshape(arange(i64, [t]), [1, t]);
    let visible = if causal { behind >= 0 && behind < window } else { abs(behind) < window };
    let row = reshape(any(visible, axis: 1), [s, 1]);
    for h in 0..2 {
        let x = where(visible, q[0, h] @ k[0, 0].T * 0.125, where(row, -inf, 0.0));
        assert_close(o[0, h], where(row, softmax(x, axis: 1) @ v[0, 0], 0.0), rtol: 5e-3, atol: 2e-3);
    }
}

/// The keys that the only tile of queries sees begin in the fourth block: 64 · 4 + 1 - 50 = 207.
test "blocks of keys outside of the window are not read" {
    let q = randn(f16, [1, 1, 64, 64], seed: 1);
    let k = randn(f16, [1, 1, 320, 64], seed: 2);
    let v = randn(f16, [1, 1, 320, 64], seed: 3);
    let o = empty(f16, [1, 1, 64, 64]);
    k[0, 0, ..192] = full(f16, [192, 64], inf);
    v[0, 0, ..192] = full(f16, [192, 64], inf);
    attention_hopper<GROUPS = 2, BN = 64, D = 64, WINDOW = 50>(q, k, v, o, 0.125);
    let behind = reshape(arange(i64, [64]), [64, 1]) + 256 - reshape(arange(i64, [128]), [1, 128]) - 192;
    let x = where(behind >= 0 && behind < 50, q[0, 0] @ k[0, 0, 192..].T * 0.125, -inf);
    assert_close(o[0, 0], softmax(x, axis: 1) @ v[0, 0, 192..], rtol: 5e-3, atol: 2e-3);
}

/// Soft capping, 2 · tanh(x / 2), by half the instructions of `tanh`: tanh(y) is 1 - 2 / (1 + e²ʸ).
fn capped(x: f32, _batch: i32, _head: i32, _query: i32, _key: i32) -> f32 {
    let root = rsqrt(1.0 + exp2(x * LOG2E));
    2.0 - 4.0 * root * root
}

/// ALiBi for four heads.
fn alibi(x: f32, _batch: i32, head: i32, query: i32, key: i32) -> f32 {
    x - exp2(-2.0 * cast(head + 1, f32)) * cast(query - key, f32)
}

/// A bias by distance, of the second batch only.
fn near(x: f32, batch: i32, _head: i32, query: i32, key: i32) -> f32 {
    x - where(batch == 1, log(1.0 + cast(abs(query - key), f32)), 0.0)
}

test "scores through a function" for (score, d, causal, window) in [
    (capped, 64, true, 0),
    (alibi, 96, false, 0),
    (near, 128, true, 40),
    (capped, 256, false, 0),
] {
    let q = randn(f16, [2, 4, 150, d], seed: 1);
    let k = randn(f16, [2, 2, 170, d], seed: 2);
    let v = randn(f16, [2, 2, 170, d], seed: 3);
    let o = empty(f16, [2, 4, 150, d]);
    attention_hopper<GROUPS = 2, BN = 64, D = d, CAUSAL = causal, WINDOW = window, SCORE = score>(
        q,
        k,
        v,
        o,
        0.125,
    );
    assert(uses("wgmma") == supports("wgmma") && uses("tma.load") && uses("tma.store"));
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    let behind = reshape(arange(i64, [150]), [150, 1]) + 20 - reshape(arange(i64, [170]), [1, 170]);
    let seen = if causal { behind >= 0 } else { behind >= 0 || behind < 0 };
    let visible = if window > 0 { seen && behind < window } else { seen };
    for i in 0..2 {
        for h in 0..4 {
            let x = q[i, h] @ k[i, h / 2].T * 0.125;
            let y = if score == capped {
                tanh(x * 0.5) * 2.0
            } else if score == alibi {
                x - pow(2.0, -2.0 * (h + 1)) * behind
            } else {
                x - log(1.0 + abs(behind)) * i
            };
            let p = softmax(where(visible, y, -inf), axis: 1);
            assert_close(o[i, h], p @ v[i, h / 2], rtol: 5e-3, atol: 2e-3);
        }
    }
}

test "several heads of a batch" {
    let q = randn(f16, [3, 6, 70, 64], seed: 1);
    let k = randn(f16, [3, 2, 70, 64], seed: 2);
    let v = randn(f16, [3, 2, 70, 64], seed: 3);
    let o = empty(f16, [3, 6, 70, 64]);
    attention_hopper<GROUPS = 1, BN = 64, D = 64>(q, k, v, o, 0.125);
    let row = reshape(arange(i64, [70]), [70, 1]);
    let col = reshape(arange(i64, [70]), [1, 70]);
    for i in 0..3 {
        for h in 0..6 {
            let x = where(col <= row, q[i, h] @ k[i, h / 3].T * 0.125, -inf);
            assert_close(o[i, h], softmax(x, axis: 1) @ v[i, h / 3], rtol: 5e-3, atol: 2e-3);
        }
    }
}

bench "attention of warp groups, 16 × 16 heads of 128, 4096 positions" {
    let q = randn(f16, [16, 16, 4096, 128], seed: 1);
    let k = randn(f16, [16, 16, 4096, 128], seed: 2);
    let v = randn(f16, [16, 16, 4096, 128], seed: 3);
    let o = empty(f16, [16, 16, 4096, 128]);
    measure flops 4 * 256 * 4096 * 4096 * 128 { attention_hopper<CAUSAL = false>(q, k, v, o, 0.0884) }
}

bench "causal attention of warp groups, 16 × 16 heads of 128, 4096 positions" {
    let q = randn(f16, [16, 16, 4096, 128], seed: 1);
    let k = randn(f16, [16, 16, 4096, 128], seed: 2);
    let v = randn(f16, [16, 16, 4096, 128], seed: 3);
    let o = empty(f16, [16, 16, 4096, 128]);
    measure flops 2 * 256 * 4096 * 4096 * 128 { attention_hopper(q, k, v, o, 0.0884) }
}

bench "causal attention of warp groups, 16 × 32 heads of 64, 1024 positions" {
    let q = randn(f16, [16, 32, 1024, 64], seed: 1);
    let k = randn(f16, [16, 32, 1024, 64], seed: 2);
    let v = randn(f16, [16, 32, 1024, 64], seed: 3);
    let o = empty(f16, [16, 32, 1024, 64]);
    measure flops 2 * 512 * 1024 * 1024 * 64 { attention_hopper<D = 64>(q, k, v, o, 0.125) }
}

bench "causal attention of warp groups in a window of 1024, 16 × 16 heads of 128, 4096 positions" {
    let q = randn(f16, [16, 16, 4096, 128], seed: 1);
    let k = randn(f16, [16, 16, 4096, 128], seed: 2);
    let v = randn(f16, [16, 16, 4096, 128], seed: 3);
    let o = empty(f16, [16, 16, 4096, 128]);
    measure flops 4 * 256 * (4096 * 1024 - 512 * 1024) * 128 {
        attention_hopper<WINDOW = 1024>(q, k, v, o, 0.0884)
    }
}

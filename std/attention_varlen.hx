//! Attention of sequences of any lengths, packed one after the other, for warp groups: the bodies of the roles are those of
//! `attention_roles`.

use std::attention_roles::{attend, blocks, feed, unchanged};

/// o = softmax(scale · q·kᵀ) · v for each sequence of `q: [tokens, heads, D]` and grouped `k`, `v: [tokens, kv_heads, D]`. Sequence `i`
/// has the queries from `starts_q[i]` to before `starts_q[i + 1]`, and the keys and values from `starts_k[i]` on likewise; no
/// sequence has more than `max_q` queries. Sequences may be empty.
///
/// The rest is as in `attention_hopper`: positions count from the beginning of the keys of a sequence, and its queries are aligned to
/// the end of its keys.
kernel attention_varlen<
    D = 128,
    GROUPS = if D > 64 { 2 } else { 3 },
    BN = if D > 192 { 80 } else if D > 128 { 112 } else { 128 },
    CAUSAL = true,
    WINDOW = 0,
    SCORE: fn = unchanged,
    T: type = f16,
>(
    q: T[m, h, D],
    k: T[n, hk, D],
    v: T[n, hk, D],
    o: mut T[m, h, D],
    starts_q: i32[ends],
    starts_k: i32[ends],
    max_q: i32,
    scale: f32,
)
    where h % hk == 0, ends >= 1, WINDOW >= 0
    grid [cdiv(max_q, 64 * GROUPS), h, ends - 1]
{
    let [late, head, batch] = block_idx;
    // A block has heads, so both are at least 1: without a divisor of 0 there is nothing to guard.
    let kv_head = head / max(h / max(hk, 1), 1);
    // Boxes do not begin before their tensor.
    let (first_q, end_q) = (max(0, starts_q[batch]), starts_q[batch + 1]);
    let (first_k, end_k) = (max(0, starts_k[batch]), starts_k[batch + 1]);
    let (s, t) = (cast(end_q - first_q, i64), cast(end_k - first_k, i64));
    // With `CAUSAL` the last queries see the most keys, so they come first.
    let tiles = cdiv(s, 64 * GROUPS);
    let bm = if CAUSAL { max(0, tiles - 1 - late) } else { late };
    let seen = blocks<CAUSAL = CAUSAL, WINDOW = WINDOW, BN = BN>(bm * 64 * GROUPS + t - s, 64 * GROUPS, t);
    let sq = shared_tensor(T, [64, D, GROUPS]);
    let (sk, sv) = (shared_tensor(T, [BN, D, 2]), shared_tensor(T, [BN, D, 2]));
    let (queries, keys, values) = (pipeline(1), pipeline(2), pipeline(2));
    let (rings, turn) = ((queries, keys, values), turns());
    warp_groups {
        producer {
            if late < tiles {
                let (own_q, own_k) = (q[first_q..end_q, head], k[first_k..end_k, kv_head]);
                feed(own_q, own_k, v[first_k..end_k, kv_head], sq, sk, sv, rings, bm, seen);
            }
        }
        consumer each GROUPS (g) {
            let acc = register_tensor(f32, [64, D]);
            let place = (batch, head, (bm * GROUPS + g) * 64 + t - s);
            if late < tiles {
                let norm = attend<
                    SCORE = SCORE,
                    CAUSAL = CAUSAL,
                    WINDOW = WINDOW,
                    ROWS = 64 * GROUPS,
                    BN = BN,
                >(acc, sq[.., .., g], sk, sv, rings, turn, place, t, seen, scale);
                // The queries of the group are read, and leave their place to its output.
                sync();
                copy(cast(acc * norm, T), sq[.., .., g]);
                sync();
                copy_async(sq[.., .., g], tile(o[first_q..end_q, head], [64, D])[.., .., bm * GROUPS + g, 0]);
                queries.release();
            }
        }
    }
}

/// Lengths of queries and keys: more of one or the other, none of one or the other, tiles that are whole and tiles that are not.
test "packed sequences" for (d, groups, causal, window) in [
    (64, 1, true, 0),
    (96, 2, false, 0),
    (128, 2, true, 100),
    (256, 2, true, 0),
] {
    let (lengths_q, lengths_k) = ([70, 0, 130, 3, 64, 200], [100, 40, 130, 0, 200, 60]);
    let starts_q = zeros(i32, [7]);
    let starts_k = zeros(i32, [7]);
    for i in 0..6 {
        starts_q[i + 1] = starts_q[i] + lengths_q[i];
        starts_k[i + 1] = starts_k[i] + lengths_k[i];
    }
    let q = randn(f16, [467, 2, d], seed: 1);
    let k = randn(f16, [530, 1, d], seed: 2);
    let v = randn(f16, [530, 1, d], seed: 3);
    // Nothing is written behind the last sequence.
    let o = full(f16, [480, 2, d], 7.0);
    attention_varlen<D = d, GROUPS = groups, BN = 64, CAUSAL = causal, WINDOW = window>(
        q,
        k,
        v,
        o[..467],
        starts_q,
        starts_k,
        200,
        0.1,
    );
    assert(uses("wgmma") == supports("wgmma") && uses("tma.load") && uses("tma.store"));
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    assert_eq(o[467..], full(f16, [13, 2, d], 7.0));
    for i in 0..6 {
        let (s, t) = (lengths_q[i], lengths_k[i]);
        if s > 0 {
            let (first_q, first_k) = (int(starts_q[i]), int(starts_k[i]));
            for h in 0..2 {
                let own = o[first_q..first_q + s, h];
                if t == 0 {
                    assert_eq(own, zeros(f16, [s, d]));
                } else {
                    let behind = reshape(arange(i64, [s]), [s, 1])
                        + (t - s)
                        - reshape(arange(i64, [t]), [1, t]);
                    let past = if causal { behind >= 0 } else { behind >= 0 || behind < 0 };
                    let visible = if window > 0 { past && behind < window } else { past };
                    let row = reshape(any(visible, axis: 1), [s, 1]);
                    let x = q[first_q..first_q + s, h] @ k[first_k..first_k + t, 0].T * 0.1;
                    let p = softmax(where(visible, x, where(row, -inf, 0.0)), axis: 1);
                    assert_close(
                        own,
                        where(row, p @ v[first_k..first_k + t, 0], 0.0),
                        rtol: 5e-3,
                        atol: 2e-3,
                    );
                }
            }
        }
    }
}

/// The last tiles of the first sequence reach into the second one, which has infinite keys and values.
test "sequences do not see each other" {
    let q = randn(f16, [70, 1, 64], seed: 1);
    let (k, v) = (randn(f16, [80, 1, 64], seed: 2), randn(f16, [80, 1, 64], seed: 3));
    k[50..] = full(f16, [30, 1, 64], inf);
    v[50..] = full(f16, [30, 1, 64], inf);
    let o = empty(f16, [70, 1, 64]);
    let (starts_q, starts_k) = (zeros(i32, [3]), zeros(i32, [3]));
    starts_q[1] = 40;
    starts_q[2] = 70;
    starts_k[1] = 50;
    starts_k[2] = 80;
    attention_varlen<D = 64, GROUPS = 1, BN = 64>(q, k, v, o, starts_q, starts_k, 40, 0.1);
    let behind = reshape(arange(i64, [40]), [40, 1]) + 10 - reshape(arange(i64, [50]), [1, 50]);
    let x = where(behind >= 0, q[..40, 0] @ k[..50, 0].T * 0.1, -inf);
    assert_close(o[..40, 0], softmax(x, axis: 1) @ v[..50, 0], rtol: 5e-3, atol: 2e-3);
}

bench "packed sequences of 512 to 4096 positions, 16 heads of 128, causal" {
    let starts = zeros(i32, [9]);
    for (i, at) in [
        (1, 4096),
        (2, 4608),
        (3, 5632),
        (4, 7680),
        (5, 11776),
        (6, 12288),
        (7, 14336),
        (8, 16384),
    ] {
        starts[i] = at;
    }
    let q = randn(f16, [16384, 16, 128], seed: 1);
    let k = randn(f16, [16384, 16, 128], seed: 2);
    let v = randn(f16, [16384, 16, 128], seed: 3);
    let o = empty(f16, [16384, 16, 128]);
    let pairs = 2 * 4096 * 4096 + 3 * 2048 * 2048 + 1024 * 1024 + 2 * 512 * 512;
    measure flops 2 * 16 * pairs * 128 { attention_varlen(q, k, v, o, starts, starts, 4096, 0.0884) }
}

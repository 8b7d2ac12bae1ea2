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
    tune GROUPS in 1..=3, BN in 32..=256 step 16
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
    (64, 2, false, 0),
    (128, 2, true, 100),
] {
    let (lengths_q, lengths_k) = ([70, 0, 130, 3, 64, 200], [100, 40, 130, 0, 200, 60]);
    let starts_q = cast(zeros(i64, [7]), i32);
    let starts_k = cast(zeros(i64, [7]), i32);
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
    assert(uses("wgmma") && uses("tma.load"));
    assert(redistributions() == 0 && spills() == 0);
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

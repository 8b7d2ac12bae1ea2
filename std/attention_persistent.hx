//! FlashAttention forward for warp groups, in blocks that stay: each walks over several tiles of queries. While a block finishes a tile,
//! it loads the next one and multiplies its first scores.

use std::attention_roles::{adjust, advance, blocks, hide, soften, unchanged, unseen, weigh};
use std::math::LOG2E;

/// Returns the tile of queries, the head and the batch of unit of work `i` among `tiles` tiles of `h` heads of `b` batches: the last
/// `chunk` tiles of each head, one head after the other, then the `chunk` tiles before them. With causal masks the last tiles take
/// longest, so short tiles fill the end of a launch. The tiles of a chunk read the same keys at the same time.
fn unit(i: i64, tiles: i64, chunk: i64, h: i64, b: i64) -> (i64, i64, i64) {
    // Quotients of 64 bits are calls of many instructions, and would spill in a producer.
    let (i, rows, width, own) = (cast(i, u32), cast(tiles, u32), cast(chunk, u32), cast(h, u32));
    let size = width * cast(h * b, u32);
    let later = i / size * width;
    let rest = i % size;
    let here = min(width, rows - later);
    let head = rest / here;
    (cast(rows - 1 - later - rest % here, i64), cast(head % own, i64), cast(head / own, i64))
}

/// Copies the queries of all groups of tile `bm`, and the blocks of keys and values that they see, the last one first. Each group has a
/// stage of queries of its own, or two.
fn feed<T: type, GROUPS = 2>(
    q: T[s, D],
    k: T[t, D],
    v: T[t, D],
    sq: shared mut T[M, D, S],
    sk: shared mut T[N, D, 2],
    sv: shared mut T[N, D, 2],
    rings: (pipeline, pipeline, pipeline),
    bm: i64,
    seen: (i64, i64, i64, i64),
) {
    let ((queries, keys, values), (last, n, _, _)) = (rings, seen);
    let gq = tile(q, [M, D])[.., .., .., 0];
    let gk = tile(k, [N, D])[.., .., .., 0];
    let gv = tile(v, [N, D])[.., .., .., 0];
    let i = keys.acquire();
    copy_async(gk[.., .., last - 1], sk[.., .., i], signal: keys);
    #[unroll]
    for g in 0..GROUPS {
        let i = queries.acquire();
        copy_async(gq[.., .., bm * GROUPS + g], sq[.., .., i], signal: queries);
    }
    for j in 1..n {
        let i = keys.acquire();
        copy_async(gk[.., .., last - 1 - j], sk[.., .., i], signal: keys);
        let i = values.acquire();
        copy_async(gv[.., .., last - j], sv[.., .., i], signal: values);
    }
    let i = values.acquire();
    copy_async(gv[.., .., last - n], sv[.., .., i], signal: values);
}

/// Scales the weighted sums `acc` by the sums of the weights, and stores them as tile `at` of `o` through `slot`, `W` columns at a time.
fn finish<T: type>(
    acc: register f32[M, D],
    total: register f32[M, 8],
    slot: shared mut T[M, W],
    o: mut T[s, D],
    at: i64,
) {
    let whole = sum(total, axis: 1);
    let norm = where(whole == 0.0, 0.0, 1.0 / whole);
    #[unroll]
    for j in 0..D / W {
        wait_stores(0);
        sync();
        copy(cast(acc[.., j * W..(j + 1) * W] * norm, T), slot);
        sync();
        copy_async(slot, tile(o, [M, W])[.., .., at, j]);
    }
}

/// As `attention_hopper`, with the same arguments: each block computes several tiles of `GROUPS` · 64 queries. The values of the last
/// block of keys of a tile and the first scores of the next tile are multiplied together, and the output is stored meanwhile.
///
/// `BN` is limited by the registers: they hold the scores, their weights, and the sums.
kernel attention_persistent<
    D = 128,
    GROUPS = if D > 64 { 2 } else { 3 },
    BN = if D > 192 { 64 } else if D > 128 { 96 } else { 128 },
    CAUSAL = true,
    WINDOW = 0,
    SCORE: fn = unchanged,
    T: type = f16,
>(q: T[b, h, s, D], k: T[b, hk, t, D], v: T[b, hk, t, D], o: mut T[b, h, s, D], scale: f32)
    where h % hk == 0,
        WINDOW >= 0,
        D * 5 / 8 + BN * 3 / 4 <= (if GROUPS > 3 { 88 } else if GROUPS > 2 { 136 } else { 208 }),
        GROUPS * (if D > 128 { 96 * D } else { 128 * D }) + 4 * BN * D <= 116000
    tune GROUPS in 1..=4, BN in 32..=256 step 16
    grid [min(multiprocessors, cdiv(s, 64 * GROUPS) * h * b)]
{
    let tiles = cdiv(s, 64 * GROUPS);
    // Every other round is walked backwards, so a block that has a long tile of one round has a short one of the next.
    let (full, left) = (tiles * h * b / grid_dim, tiles * h * b % grid_dim);
    let place = if full % 2 == 1 { grid_dim - 1 - block_idx } else { block_idx };
    let rounds = full + if place < left { 1 } else { 0 };
    // A block has heads, so both are at least 1: without a divisor of 0 there is nothing to guard.
    let share = max(h / max(hk, 1), 1);
    // With tiles of one length all tiles of a head are neighbours. Otherwise four blocks share the keys that they read.
    let chunk = if CAUSAL && WINDOW == 0 { max(1, 4 / share) } else { tiles };
    // With two stages for each group, the queries of the next tile arrive while a tile is computed.
    let ahead = if GROUPS * 192 * D + 4 * BN * D <= 116000 { 2 * GROUPS } else { GROUPS };
    let sq = shared_tensor(T, [64, D, ahead]);
    let (sk, sv) = (shared_tensor(T, [BN, D, 2]), shared_tensor(T, [BN, D, 2]));
    let (queries, keys, values) = (pipeline(ahead, readers: 1), pipeline(2), pipeline(2));
    let (rings, turn) = ((queries, keys, values), turns());
    warp_groups {
        producer {
            for w in 0..rounds {
                let i = w * grid_dim + block_idx + w % 2 * (grid_dim - 1 - 2 * block_idx);
                let (bm, head, batch) = unit(i, tiles, chunk, h, b);
                let first = bm * 64 * GROUPS + t - s;
                let seen = blocks<CAUSAL = CAUSAL, WINDOW = WINDOW, BN = BN>(first, 64 * GROUPS, t);
                let kv_head = head / share;
                feed<GROUPS = GROUPS>(
                    q[batch, head],
                    k[batch, kv_head],
                    v[batch, kv_head],
                    sq,
                    sk,
                    sv,
                    rings,
                    bm,
                    seen,
                );
            }
        }
        consumer each GROUPS (g) {
            let slot = shared_tensor(T, [64, if D > 128 { D / 2 } else { D }]);
            let acc = register_tensor(f32, [64, D]);
            let x = register_tensor(f32, [64, BN]);
            let p = register_tensor(T, [64, BN]);
            let top = register_tensor(f32, [64, 1]);
            let total = register_tensor(f32, [64, 8]);
            let fade = register_tensor(f32, [64, 1]);
            let factor = if SCORE == unchanged { scale * LOG2E } else { LOG2E };
            // The tile of the round before.
            let (done, done_head, done_batch) = (0, 0, 0);
            queries.skip(g);
            for w in 0..rounds {
                let i = w * grid_dim + block_idx + w % 2 * (grid_dim - 1 - 2 * block_idx);
                let (bm, head, batch) = unit(i, tiles, chunk, h, b);
                let first = bm * 64 * GROUPS + t - s;
                let (last, n, late, early) = blocks<CAUSAL = CAUSAL, WINDOW = WINDOW, BN = BN>(
                    first,
                    64 * GROUPS,
                    t,
                );
                let (row, length) = (cast(first + g * 64, i32), cast(t, i32));
                // Only one block, because the ring has two stages, and the other groups give the first one back after this group's turn.
                let passed = min(
                    1,
                    unseen<CAUSAL = CAUSAL, ROWS = 64 * GROUPS, BN = BN>(first + g * 64, t, last, n),
                );
                if 64 * GROUPS >= BN + 64 {
                    for _ in 0..passed {
                        keys.wait();
                        keys.release();
                    }
                }
                let own = queries.wait();
                let i = keys.wait();
                fill(x, 0.0);
                // The products of a branch are complete at its end: else the assembler makes every product wait for the one before.
                if w > 0 {
                    let last = values.wait();
                    turn.take();
                    gemm_async(acc, p, sv[.., .., last].T);
                    gemm_async(x, sq[.., .., own], sk[.., .., i]);
                    turn.pass();
                    gemm_wait(1);
                    values.release();
                    finish(acc, total, slot, o[done_batch, done_head], done * GROUPS + g);
                    gemm_wait(0);
                } else {
                    gemm_async(x, sq[.., .., own], sk[.., .., i]);
                    gemm_wait(0);
                }
                keys.release();
                if 64 * GROUPS >= BN + 64 {
                    for _ in 0..passed {
                        turn.take();
                        turn.pass();
                        values.wait();
                        values.release();
                    }
                }
                done = bm;
                done_head = head;
                done_batch = batch;
                let (head, batch) = (cast(head, i32), cast(batch, i32));
                fill(acc, 0.0);
                // Finite, so that a row that sees nothing stays zero.
                fill(top, -1.0e30);
                fill(total, 0.0);
                let col = cast((last - 1 - passed) * BN, i32);
                adjust<SCORE = SCORE>(x, scale, batch, head, row, col);
                hide<CAUSAL = CAUSAL, WINDOW = WINDOW>(x, row, col, length);
                soften<N = BN>(x, top, total, fade, factor);
                p = cast(x, T);
                for j in passed + 1..n {
                    advance(x, p, acc, sq[.., .., own], sk, sv, keys, values, turn);
                    let col = cast((last - 1 - j) * BN, i32);
                    adjust<SCORE = SCORE>(x, scale, batch, head, row, col);
                    if j < late || j >= n - early {
                        hide<CAUSAL = CAUSAL, WINDOW = WINDOW>(x, row, col, length);
                    }
                    weigh<N = BN>(x, p, acc, top, total, fade, values, factor);
                }
                queries.release();
                queries.skip(GROUPS - 1);
            }
            let i = values.wait();
            gemm_async(acc, p, sv[.., .., i].T);
            gemm_wait(0);
            values.release();
            finish(acc, total, slot, o[done_batch, done_head], done * GROUPS + g);
        }
    }
}

/// Twelve heads of up to seven tiles on the simulator's four multiprocessors: up to 21 rounds.
test "persistent attention agrees with the reference" for (s, t, groups, bn, causal) in [
    (128, 128, 2, 64, false),
    (72, 100, 1, 64, false),
    (200, 300, 2, 64, true),
    (420, 420, 1, 96, true),
    (300, 520, 3, 64, true),
    (250, 130, 4, 64, false),
] {
    let q = randn(f16, [2, 6, s, 64], seed: 1);
    let k = randn(f16, [2, 2, t, 64], seed: 2);
    let v = randn(f16, [2, 2, t, 64], seed: 3);
    let o = empty(f16, [2, 6, s, 64]);
    attention_persistent<GROUPS = groups, BN = bn, D = 64, CAUSAL = causal>(q, k, v, o, 0.125);
    assert(uses("wgmma") == supports("wgmma") && uses("tma.load") && uses("tma.store"));
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    let row = reshape(arange(i64, [s]), [s, 1]) + (t - s);
    let col = reshape(arange(i64, [t]), [1, t]);
    for i in 0..2 {
        for h in 0..6 {
            let x = q[i, h] @ k[i, h / 3].T * 0.125;
            let y = if causal { where(col <= row, x, -inf) } else { x };
            assert_close(o[i, h], softmax(y, axis: 1) @ v[i, h / 3], rtol: 5e-3, atol: 2e-3);
        }
    }
}

test "persistent attention of heads of any multiple of 16 to 256" for (d, causal) in [
    (64, false),
    (96, false),
    (112, true),
    (128, true),
    (192, true),
    (208, false),
    (256, true),
] {
    let q = randn(bf16, [1, 4, 150, d], seed: 1);
    let k = randn(bf16, [1, 2, 170, d], seed: 2);
    let v = randn(bf16, [1, 2, 170, d], seed: 3);
    let o = empty(bf16, [1, 4, 150, d]);
    attention_persistent<D = d, CAUSAL = causal>(q, k, v, o, 0.08);
    assert(uses("wgmma") == supports("wgmma") && uses("tma.load") && uses("tma.store"));
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    let row = reshape(arange(i64, [150]), [150, 1]) + 20;
    let col = reshape(arange(i64, [170]), [1, 170]);
    for h in 0..4 {
        let x = q[0, h] @ k[0, h / 2].T * 0.08;
        let y = if causal { where(col <= row, x, -inf) } else { x };
        assert_close(o[0, h], softmax(y, axis: 1) @ v[0, h / 2], rtol: 3e-2, atol: 2e-2);
    }
}

test "rows of a persistent block that see no key are zero" {
    let q = randn(f16, [1, 6, 96, 64], seed: 1);
    let k = randn(f16, [1, 6, 40, 64], seed: 2);
    let v = randn(f16, [1, 6, 40, 64], seed: 3);
    let o = empty(f16, [1, 6, 96, 64]);
    attention_persistent<GROUPS = 1, BN = 64, D = 64>(q, k, v, o, 0.125);
    let row = reshape(arange(i64, [40]), [40, 1]);
    let col = reshape(arange(i64, [40]), [1, 40]);
    for h in 0..6 {
        assert_eq(o[0, h, 0..56], zeros(f16, [56, 64]));
        let x = where(col <= row, q[0, h, 56..96] @ k[0, h].T * 0.125, -inf);
        assert_close(o[0, h, 56..96], softmax(x, axis: 1) @ v[0, h], rtol: 5e-3, atol: 2e-3);
    }
}

test "persistent windows" for (s, t, d, window, causal) in [
    // Windows that cut blocks, that are whole blocks, and that are larger than all keys.
    (200, 300, 64, 50, true),
    (130, 330, 192, 128, true),
    (100, 90, 192, 128, true),
    (200, 300, 64, 50, false),
    (260, 200, 64, 50, false),
] {
    let q = randn(f16, [1, 4, s, d], seed: 1);
    let k = randn(f16, [1, 2, t, d], seed: 2);
    let v = randn(f16, [1, 2, t, d], seed: 3);
    let o = empty(f16, [1, 4, s, d]);
    attention_persistent<GROUPS = 2, BN = 64, D = d, CAUSAL = causal, WINDOW = window>(q, k, v, o, 0.125);
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    // How far a key lies behind the query.
    let behind = reshape(arange(i64, [s]), [s, 1]) + (t - s) - reshape(arange(i64, [t]), [1, t]);
    let visible = if causal { behind >= 0 && behind < window } else { abs(behind) < window };
    let row = reshape(any(visible, axis: 1), [s, 1]);
    for h in 0..4 {
        let x = where(visible, q[0, h] @ k[0, h / 2].T * 0.125, where(row, -inf, 0.0));
        assert_close(o[0, h], where(row, softmax(x, axis: 1) @ v[0, h / 2], 0.0), rtol: 5e-3, atol: 2e-3);
    }
}

/// Soft capping, 2 · tanh(x / 2), by half the instructions of `tanh`: tanh(y) is 1 - 2 / (1 + e²ʸ).
fn capped(x: f32, _batch: i32, _head: i32, _query: i32, _key: i32) -> f32 {
    let root = rsqrt(1.0 + exp2(x * LOG2E));
    2.0 - 4.0 * root * root
}

/// A bias by distance, of the second batch only, and by head.
fn near(x: f32, batch: i32, head: i32, query: i32, key: i32) -> f32 {
    x - where(batch == 1, log(1.0 + cast(abs(query - key), f32)), 0.0) * cast(head + 1, f32)
}

test "persistent scores through a function" for (score, d, causal, window) in [
    (capped, 64, true, 0),
    (near, 128, true, 40),
    (capped, 256, false, 0),
] {
    let q = randn(f16, [2, 4, 150, d], seed: 1);
    let k = randn(f16, [2, 2, 170, d], seed: 2);
    let v = randn(f16, [2, 2, 170, d], seed: 3);
    let o = empty(f16, [2, 4, 150, d]);
    attention_persistent<GROUPS = 2, BN = 64, D = d, CAUSAL = causal, WINDOW = window, SCORE = score>(
        q,
        k,
        v,
        o,
        0.125,
    );
    assert(redistributions() == 0 && spills() == 0 && conflicts() == 0);
    let behind = reshape(arange(i64, [150]), [150, 1]) + 20 - reshape(arange(i64, [170]), [1, 170]);
    let seen = if causal { behind >= 0 } else { behind >= 0 || behind < 0 };
    let visible = if window > 0 { seen && behind < window } else { seen };
    for i in 0..2 {
        for h in 0..4 {
            let x = q[i, h] @ k[i, h / 2].T * 0.125;
            let y = if score == capped {
                tanh(x * 0.5) * 2.0
            } else {
                x - log(1.0 + abs(behind)) * i * (h + 1)
            };
            let p = softmax(where(visible, y, -inf), axis: 1);
            assert_close(o[i, h], p @ v[i, h / 2], rtol: 5e-3, atol: 2e-3);
        }
    }
}

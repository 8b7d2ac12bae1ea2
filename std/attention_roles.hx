//! The bodies of the roles of `attention_hopper` and `attention_varlen`: one role copies, each group of the other one has 64 queries
//! of its own. While the values of a block of keys are multiplied, a group computes the weights of the next one.

use std::math::LOG2E;

/// Turns scores into weights, in base 2, and carries the maximum and the sum of each row. `fade` becomes the factor by which the
/// sums so far shrink, because the maximum has grown. A row has eight sums, of every eighth weight each, which no thread shares
/// with another: only who reads the whole sum pays for an exchange. With `RANGE` weights and sums are 2 to this power times as large,
/// so that small weights keep more bits in a narrow type.
fn soften<M = 64, N = 128, RANGE = 0>(
    x: register mut f32[M, N],
    top: register mut f32[M, 1],
    total: register mut f32[M, 8],
    fade: register mut f32[M, 1],
    factor: f32,
) {
    let higher = max(top, max(x, axis: 1));
    fade = exp2((top - higher) * factor);
    x = exp2(x * factor - if RANGE > 0 { higher * factor - cast(RANGE, f32) } else { higher * factor });
    let fresh = register_tensor(f32, [M, 8]);
    fill(fresh, 0.0);
    #[unroll]
    for j in 0..N / 8 {
        fresh = fresh + x[.., j * 8..(j + 1) * 8];
    }
    total = total * fade + fresh;
    top = higher;
}

/// The scores as they are: the default of `SCORE`, which costs nothing.
fn unchanged(x: f32, _batch: i32, _head: i32, _query: i32, _key: i32) -> f32 { x }

/// Applies `SCORE` to the scaled scores. With `unchanged` it does nothing, because `soften` multiplies by the scale. `row` and `col`
/// are the positions of the first score.
fn adjust<SCORE: fn>(x: register mut f32[M, N], scale: f32, batch: i32, head: i32, row: i32, col: i32) {
    if SCORE != unchanged {
        x = x * scale;
        x = SCORE(x, batch, head, index(x, 0) + row, index(x, 1) + col);
    }
}

/// Hides the keys from `t` on, with `CAUSAL` those after the query, and with `WINDOW` those that are `WINDOW` or more away from it.
/// `row` and `col` are the positions of the first score.
fn hide<CAUSAL = true, WINDOW = 0>(x: register mut f32[M, N], row: i32, col: i32, t: i32) {
    let (r, c) = (index(x, 0) + row, index(x, 1) + col);
    let visible = if CAUSAL { c < t && c <= r } else { c < t };
    let near = if CAUSAL { r - c < WINDOW } else { abs(r - c) < WINDOW };
    x = where(if WINDOW > 0 { visible && near } else { visible }, x, -inf);
}

/// Returns which blocks of `BN` keys, of `t` keys, the `rows` queries from position `row` on see: the number after the last block, the
/// count, which is at least 1, how many of them at the end have keys that some query does not see because they are too late, and how
/// many at the beginning because they are too early. 300 keys, rows 128 to 255 and `CAUSAL` give `(2, 2, 1, 0)`.
fn blocks<CAUSAL = true, WINDOW = 0, BN = 128>(row: i64, rows: i64, t: i64) -> (i64, i64, i64, i64) {
    let ahead = if CAUSAL { 1 } else { WINDOW };
    let bounded = CAUSAL || WINDOW > 0;
    let last = max(1, cdiv(if bounded { min(t, row + rows - 1 + ahead) } else { t }, BN));
    let late = last - max(0, if bounded { min(t, row + ahead) } else { t }) / BN;
    let first = if WINDOW > 0 { max(0, row + 1 - WINDOW) / BN } else { 0 };
    let early = if WINDOW > 0 { max(0, cdiv(row + rows - WINDOW, BN) - first) } else { 0 };
    (last, last - first, late, early)
}

/// Copies the queries of all groups of tile `bm`, and the blocks of keys and values that they see, the last one first.
fn feed<T: type>(
    q: T[s, D],
    k: T[t, D],
    v: T[t, D],
    sq: shared mut T[M, D, GROUPS],
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
    queries.acquire();
    #[unroll]
    for g in 0..GROUPS {
        copy_async(gq[.., .., bm * GROUPS + g], sq[.., .., g], signal: queries);
    }
    // The keys of a block are needed before the values of the block before it.
    let i = keys.acquire();
    copy_async(gk[.., .., last - 1], sk[.., .., i], signal: keys);
    for j in 1..n {
        let i = keys.acquire();
        copy_async(gk[.., .., last - 1 - j], sk[.., .., i], signal: keys);
        let i = values.acquire();
        copy_async(gv[.., .., last - j], sv[.., .., i], signal: values);
    }
    let i = values.acquire();
    copy_async(gv[.., .., last - n], sv[.., .., i], signal: values);
}

/// Computes the scores of the next block of keys in `x`, and starts to multiply the values of the block before by their weights `p`.
fn advance<T: type>(
    x: register mut f32[M, N],
    p: register T[M, N],
    acc: register mut f32[M, D],
    sq: shared T[M, D],
    sk: shared T[N, D, 2],
    sv: shared T[N, D, 2],
    keys: pipeline,
    values: pipeline,
    turn: turns,
) {
    let i = keys.wait();
    // While one group computes its weights, another one multiplies.
    turn.take();
    fill(x, 0.0);
    gemm_async(x, sq, sk[.., .., i]);
    let i = values.wait();
    gemm_async(acc, p, sv[.., .., i].T);
    turn.pass();
    gemm_wait(1);
    keys.release();
}

/// Turns the scores `x` into the weights `p`, while the values of the block before are multiplied, and scales what `acc` sums.
fn weigh<N = 128, T: type>(
    x: register mut f32[M, N],
    p: register mut T[M, N],
    acc: register mut f32[M, D],
    top: register mut f32[M, 1],
    total: register mut f32[M, 8],
    fade: register mut f32[M, 1],
    values: pipeline,
    factor: f32,
) {
    soften<N = N>(x, top, total, fade, factor);
    gemm_wait(0);
    values.release();
    acc = acc * fade;
    p = cast(x, T);
}

/// Returns how many of the `n` blocks before block `last`, at the end, no query of the group from position `row` on sees, although
/// later groups do. A block that is longer than the queries of all groups but one is seen by every group: then it is 0.
fn unseen<CAUSAL = true, ROWS = 128, BN = 128>(row: i64, t: i64, last: i64, n: i64) -> i64 {
    if ROWS >= BN + 64 {
        // A group from row `t` on is past the end of the queries.
        let some = min(1, max(0, t - row));
        let end = some * if CAUSAL { cdiv(min(t, row + 64), BN) } else { last };
        min(n - 1, last - end)
    } else {
        0
    }
}

/// Adds up weighted values in `acc` for the queries of one group, of which the first one is at the position `row`. Returns the factor
/// for each row that makes the sums its output.
fn attend<T: type, SCORE: fn, CAUSAL = true, WINDOW = 0, ROWS = 128, BN = 128>(
    acc: register mut f32[M, D],
    sq: shared T[M, D],
    sk: shared T[BN, D, 2],
    sv: shared T[BN, D, 2],
    rings: (pipeline, pipeline, pipeline),
    turn: turns,
    place: (i64, i64, i64),
    t: i64,
    seen: (i64, i64, i64, i64),
    scale: f32,
) -> f32[M, 1] {
    let ((queries, keys, values), (last, n, late, early)) = (rings, seen);
    let (batch, head, row) = (cast(place[0], i32), cast(place[1], i32), cast(place[2], i32));
    let length = cast(t, i32);
    let x = register_tensor(f32, [M, BN]);
    let p = register_tensor(T, [M, BN]);
    let top = register_tensor(f32, [M, 1]);
    let total = register_tensor(f32, [M, 8]);
    let fade = register_tensor(f32, [M, 1]);
    let factor = if SCORE == unchanged { scale * LOG2E } else { LOG2E };
    let passed = unseen<CAUSAL = CAUSAL, ROWS = ROWS, BN = BN>(place[2], t, last, n);
    let col = cast((last - 1 - passed) * BN, i32);
    fill(acc, 0.0);
    // Finite, so that a row that sees nothing stays zero.
    fill(top, -1.0e30);
    fill(total, 0.0);
    if ROWS >= BN + 64 {
        for _ in 0..passed {
            keys.wait();
            keys.release();
            turn.take();
            turn.pass();
            values.wait();
            values.release();
        }
    }
    queries.wait();
    let i = keys.wait();
    fill(x, 0.0);
    gemm_async(x, sq, sk[.., .., i]);
    gemm_wait(0);
    keys.release();
    adjust<SCORE = SCORE>(x, scale, batch, head, row, col);
    hide<CAUSAL = CAUSAL, WINDOW = WINDOW>(x, row, col, length);
    soften<N = BN>(x, top, total, fade, factor);
    p = cast(x, T);
    #[peel]
    for j in passed + 1..if WINDOW > 0 { max(passed + 1, n - early) } else { n } {
        advance(x, p, acc, sq, sk, sv, keys, values, turn);
        let col = cast((last - 1 - j) * BN, i32);
        adjust<SCORE = SCORE>(x, scale, batch, head, row, col);
        if j < late {
            hide<CAUSAL = CAUSAL, WINDOW = WINDOW>(x, row, col, length);
        }
        weigh<N = BN>(x, p, acc, top, total, fade, values, factor);
    }
    if WINDOW > 0 {
        for j in max(passed + 1, n - early)..n {
            advance(x, p, acc, sq, sk, sv, keys, values, turn);
            let col = cast((last - 1 - j) * BN, i32);
            adjust<SCORE = SCORE>(x, scale, batch, head, row, col);
            hide<CAUSAL = CAUSAL, WINDOW = WINDOW>(x, row, col, length);
            weigh<N = BN>(x, p, acc, top, total, fade, values, factor);
        }
    }
    let i = values.wait();
    gemm_async(acc, p, sv[.., .., i].T);
    gemm_wait(0);
    values.release();
    let whole = sum(total, axis: 1);
    where(whole == 0.0, 0.0, 1.0 / whole)
}

//! Attention of one new token a sequence: the keys and values are read once, and reading them is all that takes time.
//!
//! The products are swapped: the 64 rows of a warp group's instruction are keys, then features, and its columns are the heads of a
//! group, so eight columns serve up to eight heads. Several blocks share the keys of a sequence. Each leaves its part in scratch memory,
//! and the block that arrives last joins the parts, so one launch suffices.

use std::math::LOG2E;

/// Returns the first block of `BN` keys that split `z` reads of a sequence of `n` keys, the end of all blocks, and the number of splits
/// that read any. Split `z` reads every block whose number, counted from the first one that the token sees, is `z` modulo the number of
/// splits. With `WINDOW` the token sees the last `WINDOW` keys, else all.
fn share<BN = 64, WINDOW = 0>(z: i64, splits: i64, n: i64) -> (i64, i64, i64) {
    let begin = if WINDOW > 0 { max(0, n - WINDOW) / BN } else { 0 };
    let end = cdiv(n, BN);
    (begin + z, end, min(splits, max(1, end - begin)))
}

/// Makes probabilities of the scores `x` of block `j` of keys, and puts them into `sp`. `top` becomes the maximum of all scores so far, in
/// base 2. Returns the factor by which everything that refers to the former maximum shrinks.
///
/// All keys of the block share a maximum, because one instruction adds up their products. A warp holds the scores of 16 keys.
fn weigh<BN = 64, WINDOW = 0, T: type = f16>(
    x: register f32[BN, R],
    totals: register mut f32[BN, R],
    top: register mut f32[1, R],
    tops: shared mut f32[W, R],
    sp: shared mut T[R, BN],
    j: i64,
    n: i64,
    factor: f32,
) -> f32[1, R] {
    let key = index(x, 0) + cast(j * BN, i32);
    let scores = where(key < cast(n, i32), x * factor, -inf);
    if WINDOW > 0 {
        scores = where(key >= cast(max(0, n - WINDOW), i32), scores, -inf);
    }
    copy(max(reshape(scores, [BN / 16, 16, R]), axis: 1)[.., 0, ..], tops);
    sync();
    let higher = top;
    #[unroll]
    for w in 0..BN / 16 {
        higher = max(higher, load(tops[w..w + 1, ..]));
    }
    let p = exp2(scores - higher);
    let fade = exp2(top - higher);
    // Each thread adds up the exponentials that it holds, and the threads meet once, behind all blocks.
    totals = totals * fade + p;
    top = higher;
    copy(cast(p, T), sp.T);
    fade
}

/// The body of the role that computes: reads every `step`-th block of keys from `first` to before `end` out of the rings. Returns the
/// unnormalized output in `acc`, the maximum of each head's scores in base 2, and the sum of its exponentials.
fn attend_token<BN = 64, WINDOW = 0, T: type = f16>(
    acc: register mut f32[D, R],
    sq: shared T[R, D],
    sk: shared T[BN, D, STAGES],
    sv: shared mut T[BN, D, STAGES],
    sp: shared mut T[R, BN, 2],
    rings: (pipeline, pipeline, pipeline),
    blocks: (i64, i64, i64),
    n: i64,
    scale: f32,
) -> (f32[1, R], f32[1, R]) {
    let (queries, keys, values) = rings;
    let (first, end, step) = blocks;
    let (x, totals) = (register_tensor(f32, [BN, R]), register_tensor(f32, [BN, R]));
    let top = register_tensor(f32, [1, R]);
    let tops = shared_tensor(f32, [BN / 16, R, 2]);
    fill(acc, 0.0);
    fill(top, -1.0e30);
    fill(totals, 0.0);
    queries.wait();
    for r in 0..cdiv(end - first, step) {
        let j = first + r * step;
        let i = keys.wait();
        fill(x, 0.0);
        gemm(x, sk[.., .., i], sq);
        keys.release();
        acc = acc
            * weigh<BN = BN, WINDOW = WINDOW, T = T>(
                x,
                totals,
                top,
                tops[.., .., r % 2],
                sp[.., .., r % 2],
                j,
                n,
                scale * LOG2E,
            );
        let i = values.wait();
        if if WINDOW > 0 {
            (j + 1) * BN > n || j * BN < n - WINDOW
        } else {
            (j + 1) * BN > n
        } {
            // The rows of keys that the token does not see may hold anything, and 0 · NaN is NaN.
            let rest = load(sv[.., .., i]);
            rest = where(index(rest, 0) < cast(n - j * BN, i32), rest, 0.0);
            if WINDOW > 0 {
                rest = where(index(rest, 0) >= cast(max(0, n - WINDOW) - j * BN, i32), rest, 0.0);
            }
            copy(rest, sv[.., .., i]);
        }
        sync();
        gemm(acc, sv[.., .., i].T, sp[.., .., r % 2]);
        values.release();
    }
    queries.release();
    (top, sum(totals, axis: 0))
}

/// Stores the output of a sequence's heads, if one split has read all of its keys. Else leaves the part of split `z` in `part`, and
/// the logarithm in base 2 of its denominator in `lse`; the last of the `active` splits that comes here joins the parts.
fn leave<JOIN = 8, T: type = f16>(
    acc: register f32[D, R],
    top: register f32[1, R],
    total: register f32[1, R],
    o: global mut T[heads, D],
    part: global mut f32[splits, heads, D],
    lse: global mut f32[heads, splits],
    done: global mut i32[1],
    z: i64,
    active: i64,
) {
    let norm = where(total == 0.0, 0.0, 1.0 / total);
    if z < active {
        if active == 1 {
            copy(cast((acc * norm).T, T), tile(o, [R, D])[.., .., 0, 0]);
        } else {
            copy((acc * norm).T, tile(part[z], [R, D])[.., .., 0, 0]);
            copy((top + log2(total)).T, tile(lse, [R, 1])[.., .., 0, z]);
            let one = register_tensor(i32, [1]);
            fill(one, 1);
            let ticket = scalar(atomic_add(done, one, order: "acq_rel"));
            if cast(ticket, i64) == active - 1 {
                // The next launch counts from 0 again.
                fill(one, 0);
                copy(one, done);
                let sums = register_tensor(f32, [1, R, D]);
                let (weight, best) = (register_tensor(f32, [1, R]), register_tensor(f32, [1, R]));
                fill(sums, 0.0);
                fill(weight, 0.0);
                fill(best, -1.0e30);
                for c in 0..cdiv(active, JOIN) {
                    let stored = load(tile(lse, [R, JOIN])[.., .., 0, c]).T;
                    let l = where(index(stored, 0) < cast(active - c * JOIN, i32), stored, -inf);
                    let y = load(tile(part[..active], [JOIN, R, D])[.., .., .., c, 0, 0]);
                    let higher = max(best, max(l, axis: 0));
                    let w = exp2(l - higher);
                    let fade = exp2(best - higher);
                    weight = weight * fade + sum(w, axis: 0);
                    sums = sums * fade[.., .., new] + sum(y * w[.., .., new], axis: 0);
                    best = higher;
                }
                // Every part has a key, so the sum of its exponentials is not 0.
                copy(cast(sums / weight[.., .., new], T)[0, .., ..], tile(o, [R, D])[.., .., 0, 0]);
            }
        }
    }
}

/// o = softmax(scale · q·kᵀ) · v for one token a sequence, `q: [batch, heads, D]`, and grouped `k`, `v: [batch, kv_heads, t, D]`, of
/// which sequence `i` has the first `lengths[i]` positions. `scale` is positive, and a sequence without keys gives zeros.
///
/// With `WINDOW` the token sees the last `WINDOW` keys, and other blocks of keys are not read.
///
/// `part` and `lse` are scratch memory for `splits` parts of each sequence, and `done` is 0 before the launch and 0 again after it.
/// The launch takes as many splits as the device runs at once, two or more, but at most `splits`: 64 suffice for an H200 unless a
/// single pair of a sequence and a head of keys has to fill it, and 1 keeps the keys of a sequence in one block.
///
/// `R` is at least the number of heads that share their keys; a launch that does not give it takes the least of 8, 16, 32 and 64.
#[family(attention_decode, attention_decode<R = 16>, attention_decode<R = 32>, attention_decode<R = 64>)]
kernel attention_decode<
    D = 128,
    R = 8,
    BN = 64,
    STAGES = max(1, (108 * 1024 - 2 * R * (D + 2 * BN)) / (4 * BN * D)),
    JOIN = if R * D > 8192 { 1 } else { 8192 / (R * D) },
    WINDOW = 0,
    T: type = f16,
>(
    q: T[b, h, D],
    k: T[b, hk, t, D],
    v: T[b, hk, t, D],
    o: mut T[b, h, D],
    lengths: i32[b],
    part: mut f32[splits, b, h, D],
    lse: mut f32[b, h, splits],
    done: mut i32[b, hk],
    scale: f32,
)
    where h % hk == 0, h <= R * hk, WINDOW >= 0, splits >= 1
    grid [min(splits, max(2, 2 * multiprocessors / max(1, b * hk))), hk, b]
    blocks_per_sm 2
{
    let [z, head, batch] = block_idx;
    // A block has heads, so `hk` is at least 1: without a divisor of 0 there is nothing to guard.
    let group = h / max(hk, 1);
    let (at, behind) = (head * group, (head + 1) * group);
    let n = min(t, max(0, cast(lengths[batch], i64)));
    let (first, end, active) = share<BN = BN, WINDOW = WINDOW>(z, grid_dim[0], n);
    let sq = shared_tensor(T, [R, D]);
    let (sk, sv) = (shared_tensor(T, [BN, D, STAGES]), shared_tensor(T, [BN, D, STAGES]));
    let sp = shared_tensor(T, [R, BN, 2]);
    let (queries, keys, values) = (pipeline(1), pipeline(STAGES), pipeline(STAGES));
    warp_groups {
        producer {
            queries.acquire();
            copy_async(tile(q[batch, at..behind], [R, D])[.., .., 0, 0], sq, signal: queries);
            for r in 0..cdiv(end - first, grid_dim[0]) {
                let j = first + r * grid_dim[0];
                let i = keys.acquire();
                copy_async(tile(k[batch, head], [BN, D])[.., .., j, 0], sk[.., .., i], signal: keys);
                let i = values.acquire();
                copy_async(tile(v[batch, head], [BN, D])[.., .., j, 0], sv[.., .., i], signal: values);
            }
        }
        consumer {
            let acc = register_tensor(f32, [D, R]);
            let (top, total) = attend_token<BN = BN, WINDOW = WINDOW, T = T>(
                acc,
                sq,
                sk,
                sv,
                sp,
                (queries, keys, values),
                (first, end, grid_dim[0]),
                n,
                scale,
            );
            leave<JOIN = JOIN, T = T>(
                acc,
                top,
                total,
                o[batch, at..behind],
                part[.., batch, at..behind],
                lse[batch, at..behind],
                done[batch, head..head + 1],
                z,
                active,
            );
        }
    }
}

/// `attention_decode` of keys and values in pages, `k`, `v: [pages, P, kv_heads, D]`: position `i` of a sequence lies in its page
/// `table[batch, i / P]`, at `i % P`.
///
/// A block of keys is several whole pages or a part of one. A table may hold anything behind the last page of a sequence.
#[family(
    attention_decode_paged,
    attention_decode_paged<R = 16>,
    attention_decode_paged<R = 32>,
    attention_decode_paged<R = 64>,
)]
kernel attention_decode_paged<
    D = 128,
    R = 8,
    P = 16,
    BN = 64,
    STAGES = max(1, (108 * 1024 - 2 * R * (D + 2 * BN)) / (4 * BN * D)),
    JOIN = if R * D > 8192 { 1 } else { 8192 / (R * D) },
    WINDOW = 0,
    ROWS = if P < BN { P } else { BN },
    T: type = f16,
>(
    q: T[b, h, D],
    k: T[pages, P, hk, D],
    v: T[pages, P, hk, D],
    table: i32[b, width],
    o: mut T[b, h, D],
    lengths: i32[b],
    part: mut f32[splits, b, h, D],
    lse: mut f32[b, h, splits],
    done: mut i32[b, hk],
    scale: f32,
)
    where h % hk == 0, h <= R * hk, WINDOW >= 0, splits >= 1, BN % ROWS == 0, P % ROWS == 0
    grid [min(splits, max(2, 2 * multiprocessors / max(1, b * hk))), hk, b]
    blocks_per_sm 2
{
    let [z, head, batch] = block_idx;
    // A block has heads, so `hk` is at least 1: without a divisor of 0 there is nothing to guard.
    let group = h / max(hk, 1);
    let (at, behind) = (head * group, (head + 1) * group);
    let n = min(width * P, max(0, cast(lengths[batch], i64)));
    let begin = if WINDOW > 0 { n - WINDOW } else { 0 };
    let (first, end, active) = share<BN = BN, WINDOW = WINDOW>(z, grid_dim[0], n);
    let sq = shared_tensor(T, [R, D]);
    let (sk, sv) = (shared_tensor(T, [BN, D, STAGES]), shared_tensor(T, [BN, D, STAGES]));
    let sp = shared_tensor(T, [R, BN, 2]);
    let (queries, keys, values) = (pipeline(1), pipeline(STAGES), pipeline(STAGES));
    warp_groups {
        producer {
            queries.acquire();
            copy_async(tile(q[batch, at..behind], [R, D])[.., .., 0, 0], sq, signal: queries);
            for r in 0..cdiv(end - first, grid_dim[0]) {
                let j = first + r * grid_dim[0];
                let i = keys.acquire();
                let m = values.acquire();
                #[unroll]
                for c in 0..BN / ROWS {
                    let position = j * BN + c * ROWS;
                    // A box behind all pages reads nothing, and fills its rows with zeros.
                    let seen = position < n && position + ROWS > begin;
                    let page = if seen { cast(table[batch, position / P] else 0, i64) } else { pages };
                    let rows = c * ROWS..(c + 1) * ROWS;
                    copy_async(
                        tile(k[page, .., head], [ROWS, D])[.., .., position % P / ROWS, 0],
                        sk[rows, .., i],
                        signal: keys,
                    );
                    copy_async(
                        tile(v[page, .., head], [ROWS, D])[.., .., position % P / ROWS, 0],
                        sv[rows, .., m],
                        signal: values,
                    );
                }
            }
        }
        consumer {
            let acc = register_tensor(f32, [D, R]);
            let (top, total) = attend_token<BN = BN, WINDOW = WINDOW, T = T>(
                acc,
                sq,
                sk,
                sv,
                sp,
                (queries, keys, values),
                (first, end, grid_dim[0]),
                n,
                scale,
            );
            leave<JOIN = JOIN, T = T>(
                acc,
                top,
                total,
                o[batch, at..behind],
                part[.., batch, at..behind],
                lse[batch, at..behind],
                done[batch, head..head + 1],
                z,
                active,
            );
        }
    }
}

/// Lengths of no key, one key, whole blocks and parts of blocks; behind the last key and before the window lies NaN, which nobody may see.
test "one token of each sequence" for (h, hk, d, splits, join, T, window, lengths) in [
    (8, 1, 64, 1, 8, f16, 0, [64, 0, 1]),
    (6, 2, 128, 3, 8, bf16, 0, [63, 200, 65]),
    (4, 4, 64, 4, 8, f16, 100, [0, 50, 220]),
    (5, 1, 128, 8, 2, f16, 0, [220]),
    (24, 2, 64, 2, 8, bf16, 0, [129]),
    // The rings go round several times.
    (8, 1, 128, 1, 8, f16, 0, [700]),
    (2, 1, 256, 2, 4, f16, 0, [90]),
] {
    let (b, t) = (len(lengths), max(cast(lengths, i64)) + 9);
    let q = randn(T, [b, h, d], seed: 1);
    let k = randn(T, [b, hk, t, d], seed: 2);
    let v = randn(T, [b, hk, t, d], seed: 3);
    for i in 0..b {
        k[i, .., lengths[i]..] = full(T, [hk, t - lengths[i], d], nan);
        v[i, .., lengths[i]..] = full(T, [hk, t - lengths[i], d], nan);
        let from = if window > 0 { max(0, lengths[i] - window) } else { 0 };
        v[i, .., ..from] = full(T, [hk, from, d], nan);
    }
    let o = empty(T, [b, h, d]);
    let (part, lse) = (empty(f32, [splits, b, h, d]), empty(f32, [b, h, splits]));
    let done = zeros(i32, [b, hk]);
    attention_decode<D = d, JOIN = join, WINDOW = window, T = T>(
        q,
        k,
        v,
        o,
        cast(lengths, i32),
        part,
        lse,
        done,
        0.1,
    );
    assert(uses("wgmma") == supports("wgmma") && uses("tma.load"));
    assert(spills() == 0 && conflicts() == 0);
    assert_eq(done, zeros(i32, [b, hk]));
    for i in 0..b {
        let n = lengths[i];
        let from = if window > 0 { max(0, n - window) } else { 0 };
        for j in 0..h {
            if n == 0 {
                assert_eq(o[i, j], zeros(T, [d]));
            } else {
                let own = j / (h / hk);
                let p = softmax(q[i, j] @ k[i, own, from..n].T * 0.1, axis: 0);
                assert_close(o[i, j], p @ v[i, own, from..n], rtol: 2e-2, atol: 4e-3);
            }
        }
    }
}

/// Pages that are a part of a block, a block, and two blocks. Page 0 holds NaN, as the rest of the last page does, and nobody sees it.
test "pages" for (h, hk, page, splits, T, window, lengths) in [
    (8, 1, 16, 1, f16, 0, [16, 0, 1]),
    (6, 2, 16, 3, bf16, 0, [15, 17, 170]),
    (2, 2, 64, 2, f16, 0, [64, 65, 63]),
    (2, 1, 128, 2, f16, 70, [129, 256, 60]),
    (2, 1, 16, 2, f16, 30, [129, 63, 20]),
] {
    let (b, width) = (len(lengths), cdiv(max(cast(lengths, i64)), page));
    let pages = b * width + 2;
    let q = randn(T, [b, h, 64], seed: 1);
    let k = randn(T, [pages, page, hk, 64], seed: 2);
    let v = randn(T, [pages, page, hk, 64], seed: 3);
    k[0] = full(T, [page, hk, 64], nan);
    v[0] = full(T, [page, hk, 64], nan);
    let table = zeros(i32, [b, width]);
    for i in 0..b {
        for j in 0..cdiv(lengths[i], page) {
            // A cache may have given away pages before the window.
            let gone = window > 0 && (j + 1) * page <= lengths[i] - window;
            table[i, j] = if gone { 0 } else { pages - 1 - (j * b + i) };
            let past = min(page, lengths[i] - j * page);
            k[pages - 1 - (j * b + i), past..] = full(T, [page - past, hk, 64], nan);
            v[pages - 1 - (j * b + i), past..] = full(T, [page - past, hk, 64], nan);
        }
    }
    let o = empty(T, [b, h, 64]);
    let (part, lse) = (empty(f32, [splits, b, h, 64]), empty(f32, [b, h, splits]));
    let done = zeros(i32, [b, hk]);
    attention_decode_paged<D = 64, P = page, WINDOW = window>(
        q,
        k,
        v,
        table,
        o,
        cast(lengths, i32),
        part,
        lse,
        done,
        0.1,
    );
    assert(uses("wgmma") == supports("wgmma") && uses("tma.load"));
    assert(spills() == 0 && conflicts() == 0);
    assert_eq(done, zeros(i32, [b, hk]));
    for i in 0..b {
        let n = lengths[i];
        let from = if window > 0 { max(0, n - window) } else { 0 };
        let (own_k, own_v) = (zeros(T, [width * page, hk, 64]), zeros(T, [width * page, hk, 64]));
        for j in 0..width {
            own_k[j * page..(j + 1) * page] = k[table[i, j]];
            own_v[j * page..(j + 1) * page] = v[table[i, j]];
        }
        for j in 0..h {
            if n == 0 {
                assert_eq(o[i, j], zeros(T, [64]));
            } else {
                let own = j / (h / hk);
                let p = softmax(q[i, j] @ own_k[from..n, own].T * 0.1, axis: 0);
                assert_close(o[i, j], p @ own_v[from..n, own], rtol: 2e-2, atol: 4e-3);
            }
        }
    }
}

bench "decoding, heads of 128" for (b, h, hk, t) in [(8, 64, 8, 8192), (64, 32, 8, 4096), (1, 32, 8, 65536)] {
    let q = randn(bf16, [b, h, 128], seed: 1);
    let k = randn(bf16, [b, hk, t, 128], seed: 2);
    let v = randn(bf16, [b, hk, t, 128], seed: 3);
    let o = empty(bf16, [b, h, 128]);
    let (part, lse) = (empty(f32, [64, b, h, 128]), empty(f32, [b, h, 64]));
    let (lengths, done) = (full(i32, [b], t), zeros(i32, [b, hk]));
    measure bytes 2 * 2 * b * hk * t * 128 { attention_decode(q, k, v, o, lengths, part, lse, done, 0.0884) }
}

bench "decoding from pages, heads of 128" for (b, h, hk, t, page) in [
    (8, 64, 8, 8192, 16),
    (8, 64, 8, 8192, 64),
    (64, 32, 8, 4096, 16),
    (64, 32, 8, 4096, 64),
    (1, 32, 8, 65536, 16),
    (1, 32, 8, 65536, 64),
] {
    let pages = b * t / page;
    let q = randn(bf16, [b, h, 128], seed: 1);
    let k = randn(bf16, [pages, page, hk, 128], seed: 2);
    let v = randn(bf16, [pages, page, hk, 128], seed: 3);
    // Neighbours in a sequence are no neighbours in memory: 7919 is a prime.
    let table = cast(reshape(arange(i64, [pages]) * 7919 % pages, [b, t / page]), i32);
    let o = empty(bf16, [b, h, 128]);
    let (part, lse) = (empty(f32, [64, b, h, 128]), empty(f32, [b, h, 64]));
    let (lengths, done) = (full(i32, [b], t), zeros(i32, [b, hk]));
    measure bytes 2 * 2 * b * hk * t * 128 {
        attention_decode_paged<P = page>(q, k, v, table, o, lengths, part, lse, done, 0.0884)
    }
}

bench "decoding of 32 sequences of 256 to 8192 keys, 32 over 8 heads of 128" {
    let q = randn(bf16, [32, 32, 128], seed: 1);
    let k = randn(bf16, [32, 8, 8192, 128], seed: 2);
    let v = randn(bf16, [32, 8, 8192, 128], seed: 3);
    let o = empty(bf16, [32, 32, 128]);
    let (part, lse) = (empty(f32, [16, 32, 32, 128]), empty(f32, [32, 32, 16]));
    let (lengths, done) = ((arange(i32, [32]) + 1) * 256, zeros(i32, [32, 8]));
    measure bytes 2 * 2 * 8 * 256 * 528 * 128 {
        attention_decode(q, k, v, o, cast(lengths, i32), part, lse, done, 0.0884)
    }
}

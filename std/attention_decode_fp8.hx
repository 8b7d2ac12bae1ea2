//! Attention of one new token a sequence, as in `attention_decode`, for keys and values of 8 bits.
//!
//! The instruction for 8-bit operands reads the values along their keys only, and wants queries of 8 bits. So keys and values are
//! widened on their way from the ring to a tile of 16 bits, and the products are those of 16 bits.

use std::attention_decode::{leave, share, weigh};
use std::math::LOG2E;

/// `attend_token` for a ring of narrow keys and values.
fn attend_narrow<BN = 64, WINDOW = 0, T: type = f16, K: type = f8e4m3>(
    acc: register mut f32[D, R],
    sq: shared T[R, D],
    sk: shared K[BN, D, STAGES],
    sv: shared K[BN, D, STAGES],
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
    let (wide_k, wide_v) = (shared_tensor(T, [BN, D]), shared_tensor(T, [BN, D]));
    fill(acc, 0.0);
    fill(top, -1.0e30);
    fill(totals, 0.0);
    queries.wait();
    for r in 0..cdiv(end - first, step) {
        let j = first + r * step;
        let i = keys.wait();
        let wide = cast(load(sk[.., .., i]), T);
        keys.release();
        copy(wide, wide_k);
        sync();
        fill(x, 0.0);
        gemm(x, wide_k, sq);
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
        let v = cast(load(sv[.., .., i]), T);
        values.release();
        if if WINDOW > 0 {
            (j + 1) * BN > n || j * BN < n - WINDOW
        } else {
            (j + 1) * BN > n
        } {
            // The rows of keys that the token does not see may hold anything, and 0 · NaN is NaN.
            v = where(index(v, 0) < cast(n - j * BN, i32), v, 0.0);
            if WINDOW > 0 {
                v = where(index(v, 0) >= cast(max(0, n - WINDOW) - j * BN, i32), v, 0.0);
            }
        }
        copy(v, wide_v);
        sync();
        gemm(acc, wide_v.T, sp[.., .., r % 2]);
    }
    queries.release();
    (top, sum(totals, axis: 0))
}

/// `attention_decode` of `k`, `v` of 8 bits, each with a scale for the whole tensor: the keys are `scale_k · k`, the values
/// `scale_v · v`. Widening to `f16` takes fewer instructions than to `bf16`.
#[family(attention_decode_fp8, attention_decode_fp8<R = 16>, attention_decode_fp8<R = 32>)]
kernel attention_decode_fp8<
    D = 128,
    R = 8,
    BN = 64,
    STAGES = if D > 64 { 2 } else { 4 },
    BLOCKS = if D > 128 { 1 } else if R > 16 { 2 } else { 3 },
    JOIN = if R * D > 4096 { 1 } else { 4096 / (R * D) },
    WINDOW = 0,
    T: type = f16,
    K: type = f8e4m3,
>(
    q: T[b, h, D],
    k: K[b, hk, t, D],
    v: K[b, hk, t, D],
    o: mut T[b, h, D],
    lengths: i32[b],
    part: mut f32[splits, b, h, D],
    lse: mut f32[b, h, splits],
    done: mut i32[b, hk],
    scale: f32,
    scale_k: f32,
    scale_v: f32,
)
    where h % hk == 0, h <= R * hk, WINDOW >= 0, splits >= 1
    grid [min(splits, max(2, BLOCKS * multiprocessors / max(1, b * hk))), hk, b]
    blocks_per_sm BLOCKS
{
    let [z, head, batch] = block_idx;
    // A block has heads, so `hk` is at least 1: without a divisor of 0 there is nothing to guard.
    let group = h / max(hk, 1);
    let (at, behind) = (head * group, (head + 1) * group);
    let n = min(t, max(0, cast(lengths[batch], i64)));
    let (first, end, active) = share<BN = BN, WINDOW = WINDOW>(z, grid_dim[0], n);
    let sq = shared_tensor(T, [R, D]);
    let (sk, sv) = (shared_tensor(K, [BN, D, STAGES]), shared_tensor(K, [BN, D, STAGES]));
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
            let (top, total) = attend_narrow<BN = BN, WINDOW = WINDOW, T = T, K = K>(
                acc,
                sq,
                sk,
                sv,
                sp,
                (queries, keys, values),
                (first, end, grid_dim[0]),
                n,
                scale * scale_k,
            );
            leave<JOIN = JOIN, T = T>(
                acc * scale_v,
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

/// `attention_decode_paged` of keys and values of 8 bits, as in `attention_decode_fp8`.
#[family(attention_decode_paged_fp8, attention_decode_paged_fp8<R = 16>, attention_decode_paged_fp8<R = 32>)]
kernel attention_decode_paged_fp8<
    D = 128,
    R = 8,
    P = 16,
    BN = 64,
    STAGES = if D > 64 { 2 } else { 4 },
    BLOCKS = if D > 128 { 1 } else if R > 16 { 2 } else { 3 },
    JOIN = if R * D > 4096 { 1 } else { 4096 / (R * D) },
    WINDOW = 0,
    ROWS = if P < BN { P } else { BN },
    T: type = f16,
    K: type = f8e4m3,
>(
    q: T[b, h, D],
    k: K[pages, P, hk, D],
    v: K[pages, P, hk, D],
    table: i32[b, width],
    o: mut T[b, h, D],
    lengths: i32[b],
    part: mut f32[splits, b, h, D],
    lse: mut f32[b, h, splits],
    done: mut i32[b, hk],
    scale: f32,
    scale_k: f32,
    scale_v: f32,
)
    where h % hk == 0, h <= R * hk, WINDOW >= 0, splits >= 1, BN % ROWS == 0, P % ROWS == 0
    grid [min(splits, max(2, BLOCKS * multiprocessors / max(1, b * hk))), hk, b]
    blocks_per_sm BLOCKS
{
    let [z, head, batch] = block_idx;
    // A block has heads, so `hk` is at least 1: without a divisor of 0 there is nothing to guard.
    let group = h / max(hk, 1);
    let (at, behind) = (head * group, (head + 1) * group);
    let n = min(width * P, max(0, cast(lengths[batch], i64)));
    let begin = if WINDOW > 0 { n - WINDOW } else { 0 };
    let (first, end, active) = share<BN = BN, WINDOW = WINDOW>(z, grid_dim[0], n);
    let sq = shared_tensor(T, [R, D]);
    let (sk, sv) = (shared_tensor(K, [BN, D, STAGES]), shared_tensor(K, [BN, D, STAGES]));
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
            let (top, total) = attend_narrow<BN = BN, WINDOW = WINDOW, T = T, K = K>(
                acc,
                sq,
                sk,
                sv,
                sp,
                (queries, keys, values),
                (first, end, grid_dim[0]),
                n,
                scale * scale_k,
            );
            leave<JOIN = JOIN, T = T>(
                acc * scale_v,
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

test "keys and values of 8 bits" for (h, hk, d, splits, T, window, lengths) in [
    (8, 1, 64, 1, f16, 0, [64, 0, 1]),
    (6, 2, 128, 3, bf16, 0, [63, 200]),
    (4, 2, 64, 2, f16, 100, [50, 220]),
    // The rings go round several times.
    (2, 1, 128, 1, f16, 0, [450]),
] {
    let (b, t) = (len(lengths), max(cast(lengths, i64)) + 9);
    let q = randn(T, [b, h, d], seed: 1);
    let k = cast(randn(f32, [b, hk, t, d], seed: 2), f8e4m3);
    let v = cast(randn(f32, [b, hk, t, d], seed: 3), f8e4m3);
    for i in 0..b {
        k[i, .., lengths[i]..] = full(f8e4m3, [hk, t - lengths[i], d], nan);
        v[i, .., lengths[i]..] = full(f8e4m3, [hk, t - lengths[i], d], nan);
    }
    let o = empty(T, [b, h, d]);
    let (part, lse) = (empty(f32, [splits, b, h, d]), empty(f32, [b, h, splits]));
    let done = zeros(i32, [b, hk]);
    attention_decode_fp8<D = d, WINDOW = window>(
        q,
        k,
        v,
        o,
        cast(lengths, i32),
        part,
        lse,
        done,
        0.1,
        0.5,
        3.0,
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
                let p = softmax(q[i, j] @ k[i, own, from..n].T * 0.05, axis: 0);
                assert_close(o[i, j], p @ v[i, own, from..n] * 3.0, rtol: 2e-2, atol: 1.2e-2);
            }
        }
    }
}

test "pages of 8 bits" for (h, hk, page, splits, T, window, lengths) in [
    (6, 2, 16, 2, f16, 0, [15, 0, 130]),
    (2, 1, 128, 2, bf16, 70, [129, 60]),
] {
    let (b, width) = (len(lengths), cdiv(max(cast(lengths, i64)), page));
    let pages = b * width + 2;
    let q = randn(T, [b, h, 64], seed: 1);
    let k = cast(randn(f32, [pages, page, hk, 64], seed: 2), f8e4m3);
    let v = cast(randn(f32, [pages, page, hk, 64], seed: 3), f8e4m3);
    k[0] = full(f8e4m3, [page, hk, 64], nan);
    v[0] = full(f8e4m3, [page, hk, 64], nan);
    let table = zeros(i32, [b, width]);
    for i in 0..b {
        for j in 0..cdiv(lengths[i], page) {
            table[i, j] = pages - 1 - (j * b + i);
        }
    }
    let o = empty(T, [b, h, 64]);
    let (part, lse) = (empty(f32, [splits, b, h, 64]), empty(f32, [b, h, splits]));
    let done = zeros(i32, [b, hk]);
    let length = cast(lengths, i32);
    attention_decode_paged_fp8<D = 64, P = page, WINDOW = window>(
        q,
        k,
        v,
        table,
        o,
        length,
        part,
        lse,
        done,
        0.1,
        0.5,
        3.0,
    );
    assert(uses("wgmma") == supports("wgmma") && uses("tma.load"));
    assert(spills() == 0 && conflicts() == 0);
    for i in 0..b {
        let n = lengths[i];
        let from = if window > 0 { max(0, n - window) } else { 0 };
        let (own_k, own_v) = (zeros(f8e4m3, [width * page, hk, 64]), zeros(f8e4m3, [width * page, hk, 64]));
        for j in 0..width {
            own_k[j * page..(j + 1) * page] = k[table[i, j]];
            own_v[j * page..(j + 1) * page] = v[table[i, j]];
        }
        for j in 0..h {
            if n == 0 {
                assert_eq(o[i, j], zeros(T, [64]));
            } else {
                let own = j / (h / hk);
                let p = softmax(q[i, j] @ own_k[from..n, own].T * 0.05, axis: 0);
                assert_close(o[i, j], p @ own_v[from..n, own] * 3.0, rtol: 2e-2, atol: 1.2e-2);
            }
        }
    }
}

bench "decoding from 8 bits, heads of 128" for (b, h, hk, t) in [
    (8, 64, 8, 16384),
    (64, 32, 8, 4096),
    (1, 32, 8, 131072),
] {
    let q = randn(f16, [b, h, 128], seed: 1);
    let k = cast(randn(f16, [b, hk, t, 128], seed: 2), f8e4m3);
    let v = cast(randn(f16, [b, hk, t, 128], seed: 3), f8e4m3);
    let o = empty(f16, [b, h, 128]);
    let (part, lse) = (empty(f32, [64, b, h, 128]), empty(f32, [b, h, 64]));
    let (lengths, done) = (full(i32, [b], t), zeros(i32, [b, hk]));
    measure bytes 2 * b * hk * t * 128 {
        attention_decode_fp8(q, k, v, o, lengths, part, lse, done, 0.0884, 1.0, 1.0)
    }
}

bench "decoding from pages of 8 bits, heads of 128" for page in [16, 64] {
    let (b, t, pages) = (8, 16384, 8 * 16384 / page);
    let q = randn(f16, [b, 64, 128], seed: 1);
    let k = cast(randn(f16, [pages, page, 8, 128], seed: 2), f8e4m3);
    let v = cast(randn(f16, [pages, page, 8, 128], seed: 3), f8e4m3);
    // Neighbours in a sequence are no neighbours in memory: 7919 is a prime.
    let table = cast(reshape(arange(i64, [pages]) * 7919 % pages, [b, t / page]), i32);
    let o = empty(f16, [b, 64, 128]);
    let (part, lse) = (empty(f32, [64, b, 64, 128]), empty(f32, [b, 64, 64]));
    let (lengths, done) = (full(i32, [b], t), zeros(i32, [b, 8]));
    measure bytes 2 * b * 8 * t * 128 {
        attention_decode_paged_fp8<P = page>(q, k, v, table, o, lengths, part, lse, done, 0.0884, 1.0, 1.0)
    }
}

//! Attention of one new token a sequence: the keys and values are read once, and reading them is all that takes time.
//!
//! The product is swapped: the 64 rows of a warp group's instruction are keys, then features, and its columns are the heads of a
//! group, so eight columns serve up to eight heads. `SPLITS` blocks share the keys of a sequence. Each leaves its part in
//! scratch memory, and the block that arrives last joins the parts.

use std::math::LOG2E;

/// Returns the first and the end of the blocks of `BN` keys that split `z` of a sequence reads, and the number of splits that read
/// any. A sequence of `n` keys is seen from key `n - WINDOW` on, or from the beginning without `WINDOW`.
fn share<BN = 64, SPLITS = 1, WINDOW = 0>(z: i64, n: i64) -> (i64, i64, i64) {
    let begin = if WINDOW > 0 { max(0, n - WINDOW) / BN } else { 0 };
    let end = cdiv(n, BN);
    let each = max(1, cdiv(end - begin, SPLITS));
    let first = min(begin + z * each, end);
    (first, min(first + each, end), max(1, cdiv(end - begin, each)))
}

kernel attention_decode<D = 128, R = 8, BN = 64, STAGES = 3, SPLITS = 4, WINDOW = 0, T: type = f16>(
    q: T[b, h, D],
    k: T[b, hk, t, D],
    v: T[b, hk, t, D],
    o: mut T[b, h, D],
    lengths: i32[b],
    part: mut f32[splits, b, h, D],
    lse: mut f32[splits, b, h],
    done: mut i32[b, hk],
    scale: f32,
)
    where h % hk == 0, h <= R * hk, SPLITS <= splits, WINDOW >= 0
    grid [SPLITS, hk, b]
{
    let [z, head, batch] = block_idx;
    let group = h / max(hk, 1);
    let rows = head * group;
    let n = min(t, max(0, cast(lengths[batch], i64)));
    let (first, end, active) = share<BN = BN, SPLITS = SPLITS, WINDOW = WINDOW>(z, n);
    let sq = shared_tensor(T, [R, D]);
    let (sk, sv) = (shared_tensor(T, [BN, D, STAGES]), shared_tensor(T, [BN, D, STAGES]));
    let sp = shared_tensor(T, [R, BN]);
    let (queries, keys, values) = (pipeline(1), pipeline(STAGES), pipeline(STAGES));
    warp_groups {
        producer {
            queries.acquire();
            copy_async(tile(q[batch, rows..rows + group], [R, D])[.., .., 0, 0], sq, signal: queries);
            for j in first..end {
                let i = keys.acquire();
                copy_async(tile(k[batch, head], [BN, D])[.., .., j, 0], sk[.., .., i], signal: keys);
                let i = values.acquire();
                copy_async(tile(v[batch, head], [BN, D])[.., .., j, 0], sv[.., .., i], signal: values);
            }
        }
        consumer {
            let acc = register_tensor(f32, [D, R]);
            let x = register_tensor(f32, [BN, R]);
            let (top, total) = (register_tensor(f32, [1, R]), register_tensor(f32, [1, R]));
            let factor = scale * LOG2E;
            fill(acc, 0.0);
            fill(top, -1.0e30);
            fill(total, 0.0);
            queries.wait();
            for j in first..end {
                let i = keys.wait();
                fill(x, 0.0);
                gemm(x, sk[.., .., i], sq);
                keys.release();
                let key = index(x, 0) + cast(j * BN, i32);
                x = where(key < cast(n, i32), x * factor, -inf);
                let higher = max(top, max(x, axis: 0));
                let p = exp2(x - higher);
                let fade = exp2(top - higher);
                total = total * fade + sum(p, axis: 0);
                top = higher;
                acc = acc * fade;
                copy(cast(p, T), sp.T);
                let i = values.wait();
                if (j + 1) * BN > n {
                    // Rows behind the last key may hold anything, and 0 · NaN is NaN.
                    let rest = load(sv[.., .., i]);
                    sync();
                    copy(where(index(rest, 0) + cast(j * BN, i32) < cast(n, i32), rest, 0.0), sv[.., .., i]);
                }
                sync();
                gemm(acc, sv[.., .., i].T, sp);
                values.release();
                sync();
            }
            queries.release();
            let norm = where(total == 0.0, 0.0, 1.0 / total);
            if active == 1 {
                if z == 0 {
                    copy(cast((acc * norm).T, T), tile(o[batch, rows..rows + group], [R, D])[.., .., 0, 0]);
                }
            } else {
                if z < active {
                    copy(acc.T * norm.T, tile(part[z, batch, rows..rows + group], [R, D])[.., .., 0, 0]);
                    copy((top + log2(total))[0, ..], tile(lse[z, batch, rows..rows + group], [R])[.., 0]);
                    let one = register_tensor(i32, [1]);
                    fill(one, 1);
                    let ticket = scalar(atomic_add(done[batch, head..head + 1], one, order: "acq_rel"));
                    if ticket == active - 1 {
                        fill(one, 0);
                        copy(one, done[batch, head..head + 1]);
                        let (sums, weight) = (register_tensor(f32, [1, R, D]), register_tensor(f32, [1, R]));
                        let best = register_tensor(f32, [1, R]);
                        fill(sums, 0.0);
                        fill(weight, 0.0);
                        fill(best, -1.0e30);
                        for c in 0..cdiv(active, 8) {
                            let l = load(
                                tile(lse[..active, batch, rows..rows + group], [8, R], pad: -inf)[
                                    ..,
                                    ..,
                                    c,
                                    0,
                                ],
                            );
                            let y = load(
                                tile(part[..active, batch, rows..rows + group], [8, R, D])[
                                    ..,
                                    ..,
                                    ..,
                                    c,
                                    0,
                                    0,
                                ],
                            );
                            let higher = max(best, max(l, axis: 0));
                            let w = exp2(l - higher);
                            let fade = exp2(best - higher);
                            weight = weight * fade + sum(w, axis: 0);
                            sums = sums * fade[.., .., new] + sum(y * w[.., .., new], axis: 0);
                            best = higher;
                        }
                        let norm = where(weight == 0.0, 0.0, 1.0 / weight);
                        copy(
                            cast(sums * norm[.., .., new], T)[0, .., ..],
                            tile(o[batch, rows..rows + group], [R, D])[.., .., 0, 0],
                        );
                    }
                }
            }
        }
    }
}

test "one token of each sequence" for (h, hk, d, splits, T, lengths) in [
    (8, 1, 64, 1, f16, [64, 0, 1]),
    (6, 2, 128, 3, bf16, [63, 200, 65]),
] {
    let (b, t) = (len(lengths), 220);
    let q = randn(T, [b, h, d], seed: 1);
    let k = randn(T, [b, hk, t, d], seed: 2);
    let v = randn(T, [b, hk, t, d], seed: 3);
    // Nobody reads behind the last key.
    for i in 0..b {
        k[i, .., lengths[i]..] = full(T, [hk, t - lengths[i], d], nan);
        v[i, .., lengths[i]..] = full(T, [hk, t - lengths[i], d], nan);
    }
    let o = empty(T, [b, h, d]);
    let (part, lse) = (empty(f32, [splits, b, h, d]), empty(f32, [splits, b, h]));
    let done = zeros(i32, [b, hk]);
    attention_decode<D = d, SPLITS = splits, T = T>(q, k, v, o, cast(lengths, i32), part, lse, done, 0.1);
    assert(spills() == 0 && conflicts() == 0);
    assert_eq(done, zeros(i32, [b, hk]));
    for i in 0..b {
        let n = lengths[i];
        for j in 0..h {
            if n == 0 {
                assert_eq(o[i, j], zeros(T, [d]));
            } else {
                let own = j / (h / hk);
                let p = softmax(q[i, j] @ k[i, own, ..n].T * 0.1, axis: 0);
                assert_close(o[i, j], p @ v[i, own, ..n], rtol: 2e-2, atol: 4e-3);
            }
        }
    }
}

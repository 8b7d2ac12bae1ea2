//! Latent attention (MLA) for decoding: one row of 576 numbers is the key of all heads, and its first 512 are their value.
//!
//! As in FlashMLA, two roles of a block exchange their probabilities: each computes the scores of every second block of keys, and holds
//! half of the columns of the output.

use std::math::LOG2E;

/// part[z] = softmax(scale · q · kᵀ) · v over the keys of split `z`, and the logarithm in base 2 of its denominator. Keys lie in pages of 64
/// rows, which `table` picks; `length` is the number of keys of each sequence.
kernel mla_split<SPLITS = 2, T: type = bf16>(
    q: T[b, h, 576],
    kv: T[pages, 64, 576],
    table: i32[b, width],
    length: i32[b],
    part: mut f32[SPLITS, b, h, 512],
    lse: mut f32[SPLITS, b, h],
    scale: f32,
)
    grid [cdiv(h, 64), SPLITS, b]
{
    let [hm, z, batch] = block_idx;
    let t = cast(length[batch], i64);
    let blocks = cdiv(max(t, 0), 64);
    let each = cdiv(blocks, SPLITS);
    let first = min(z * each, blocks);
    let last = min(first + each, blocks);
    let rounds = cdiv(last - first, 2);
    let most = cast(min(t, last * 64), i32);
    let factor = scale * LOG2E;
    let sq = shared_tensor(T, [64, 576]);
    let skv = shared_tensor(T, [64, 576, 2]);
    // The probabilities of both roles in turns, and the maximum to which those of each refer. `left` goes to the role of the right columns.
    let sp = shared_tensor(T, [64, 64]);
    let left = shared_tensor(f32, [64, 1]);
    let right = shared_tensor(f32, [64, 1]);
    let (once, pipe) = (pipeline(1), pipeline(2));
    let (to_right, to_left) = (pipeline(1), pipeline(1));
    warp_groups {
        producer {
            once.acquire();
            copy_async(tile(q[batch], [64, 576])[.., .., hm, 0], sq, signal: once);
            for j in 0..rounds * 2 {
                let i = pipe.acquire();
                let page = table[batch, first + j] else 0;
                copy_async(tile(kv[page], [64, 576])[.., .., 0, 0], skv[.., .., i], signal: pipe);
            }
        }
        consumer {
            let acc = register_tensor(f32, [64, 256]);
            let x = register_tensor(f32, [64, 64]);
            let top = register_tensor(f32, [64, 1]);
            let total = register_tensor(f32, [64, 1]);
            fill(acc, 0.0);
            fill(top, -1.0e30);
            fill(total, 0.0);
            once.wait();
            for j in 0..rounds {
                let i = pipe.wait();
                fill(x, 0.0);
                gemm(x, sq, skv[.., .., i]);
                let col = index(x, 1) + cast((first + 2 * j) * 64, i32);
                x = where(col < most, x * factor, -inf);
                let higher = max(top, max(x, axis: 1));
                let p = exp2(x - higher);
                let fade = exp2(top - higher);
                let own = cast(p, T);
                to_right.acquire();
                sync();
                copy(own, sp);
                copy(higher, left);
                to_right.publish();
                total = total * fade + sum(p, axis: 1);
                acc = acc * fade;
                gemm(acc, own, skv[.., ..256, i].T);
                pipe.release();
                let o = pipe.wait();
                to_left.wait();
                top = load(right);
                let later = exp2(higher - top);
                total = total * later;
                acc = acc * later;
                gemm(acc, sp, skv[.., ..256, o].T);
                to_left.release();
                pipe.release();
            }
            once.release();
            to_right.acquire();
            copy(total, left);
            to_right.publish();
            to_left.wait();
            total = total + load(right);
            to_left.release();
            let norm = where(total == 0.0, 0.0, 1.0 / total);
            copy(acc * norm, tile(part[z, batch], [64, 256])[.., .., hm, 0]);
            copy((top + log2(total))[.., 0], tile(lse[z, batch], [64])[.., hm]);
        }
        consumer {
            let acc = register_tensor(f32, [64, 256]);
            let x = register_tensor(f32, [64, 64]);
            let top = register_tensor(f32, [64, 1]);
            let total = register_tensor(f32, [64, 1]);
            fill(acc, 0.0);
            fill(top, -1.0e30);
            fill(total, 0.0);
            once.wait();
            for j in 0..rounds {
                let o = pipe.wait();
                let i = pipe.wait();
                fill(x, 0.0);
                gemm(x, sq, skv[.., .., i]);
                let col = index(x, 1) + cast((first + 2 * j + 1) * 64, i32);
                x = where(col < most, x * factor, -inf);
                to_right.wait();
                let middle = load(left);
                let higher = max(middle, max(x, axis: 1));
                let p = exp2(x - higher);
                acc = acc * exp2(top - middle);
                gemm(acc, sp, skv[.., 256..512, o].T);
                to_right.release();
                pipe.release_previous();
                let own = cast(p, T);
                to_left.acquire();
                sync();
                copy(own, sp);
                copy(higher, right);
                to_left.publish();
                acc = acc * exp2(middle - higher);
                total = total * exp2(top - higher) + sum(p, axis: 1);
                top = higher;
                gemm(acc, own, skv[.., 256..512, i].T);
                pipe.release();
            }
            once.release();
            to_left.acquire();
            copy(total, right);
            to_left.publish();
            to_right.wait();
            total = total + load(left);
            to_right.release();
            let norm = where(total == 0.0, 0.0, 1.0 / total);
            copy(acc * norm, tile(part[z, batch], [64, 256])[.., .., hm, 1]);
        }
    }
}

/// o = the parts of all splits, each weighed with the sum of its exponentials.
kernel mla_join<SPLITS = 2, T: type = bf16>(
    part: f32[SPLITS, b, h, 512],
    lse: f32[SPLITS, b, h],
    o: mut T[b, h, 512],
)
    grid [cdiv(h, 4), b]
    threads 128
{
    let [hm, batch] = block_idx;
    let l = load(tile(lse, [SPLITS, 1, 4])[.., 0, .., 0, batch, hm]);
    let top = max(l, axis: 0);
    let w = exp2(l - top);
    let norm = w / sum(w, axis: 0);
    let sums = register_tensor(f32, [4, 512]);
    fill(sums, 0.0);
    #[unroll]
    for z in 0..SPLITS {
        let x = load(tile(part[z, batch], [4, 512])[.., .., hm, 0]);
        sums = sums + x * norm[z, ..][.., new];
    }
    copy(cast(sums, T), tile(o[batch], [4, 512])[.., .., hm, 0]);
}

test "mla decode" for (b, h, lengths) in [(1, 64, [200]), (2, 16, [65, 330])] {
    let width = cdiv(max(cast(lengths, i64)), 64);
    let pages = b * width + 3;
    let q = randn(bf16, [b, h, 576], seed: 1);
    let kv = randn(bf16, [pages, 64, 576], seed: 2);
    let table = zeros(i32, [b, width]);
    for i in 0..b {
        for j in 0..width {
            table[i, j] = (7 * (i * width + j) + 3) % pages;
        }
    }
    let length = cast(lengths, i32);
    let (part, lse, o) = (empty(f32, [2, b, h, 512]), empty(f32, [2, b, h]), empty(bf16, [b, h, 512]));
    mla_split(q, kv, table, length, part, lse, 0.05);
    assert(uses("wgmma") && uses("tma.load") && spills() == 0 && conflicts() == 0);
    mla_join(part, lse, o);
    for i in 0..b {
        let keys = zeros(bf16, [width * 64, 576]);
        for j in 0..width {
            keys[j * 64..(j + 1) * 64] = kv[table[i, j]];
        }
        let k = keys[..lengths[i]];
        let p = softmax(q[i] @ k.T * 0.05, axis: 1);
        assert_close(o[i], p @ k[.., ..512], rtol: 2e-2, atol: 2e-2);
    }
}

bench "mla decode of 4096 keys, 128 heads" for (b, s) in [(33, 2), (66, 1), (132, 1)] {
    let (t, pages) = (4096, b * 64);
    let q = randn(bf16, [b, 128, 576], seed: 1);
    let kv = randn(bf16, [pages, 64, 576], seed: 2);
    let table = cast(reshape(arange(i32, [pages]), [b, 64]), i32);
    let length = full(i32, [b], t);
    let (part, lse) = (empty(f32, [s, b, 128, 512]), empty(f32, [s, b, 128]));
    measure flops 2 * b * 128 * t * (576 + 512) {
        mla_split<SPLITS = s>(q, kv, table, length, part, lse, 0.05)
    }
}

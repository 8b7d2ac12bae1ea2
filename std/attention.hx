//! FlashAttention-2 forward. No layout is written: both products meet in registers, and the accumulator fragment of the first is the
//! operand fragment of the second.

use std::math::LOG2E;

/// o = softmax(scale · q·kᵀ) · v for `q: [batch, heads, s, D]` and grouped `k`, `v: [batch, kv_heads, t, D]`, with a positive `scale`.
///
/// With `CAUSAL`, queries are aligned to the end of the keys: query `i` sees the keys up to `i + t - s`. A row that sees nothing is zero.
kernel attention<BM = 128, BN = 64, D = 128, CAUSAL = true, THREADS = 128, T: type = f16>(
    q: T[b, h, s, D],
    k: T[b, hk, t, D],
    v: T[b, hk, t, D],
    o: mut T[b, h, s, D],
    scale: f32,
)
    where h % hk == 0
    grid [cdiv(s, BM), h, b]
    threads THREADS
{
    let [bm, head, batch] = block_idx;
    // A block has heads, so both are at least 1: without a divisor of 0 there is nothing to guard.
    let kv_head = head / max(h / max(hk, 1), 1);
    let gq = tile(q[batch, head], [BM, D])[.., .., bm, 0];
    let gk = tile(k[batch, kv_head], [BN, D])[.., .., .., 0];
    let gv = tile(v[batch, kv_head], [BN, D])[.., .., .., 0];
    let sq = shared_tensor(T, [BM, D]);
    let sk = shared_tensor(T, [BN, D]);
    let sv = shared_tensor(T, [BN, D]);
    let acc = register_tensor(f32, [BM, D]);
    let row_max = register_tensor(f32, [BM, 1]);
    let row_sum = register_tensor(f32, [BM, 1]);
    fill(acc, 0.0);
    // Finite, so that a row that sees nothing stays zero.
    fill(row_max, -1.0e30);
    fill(row_sum, 0.0);

    let factor = scale * LOG2E;
    let offset = t - s;
    let tiles = if CAUSAL { cdiv(min(t, (bm + 1) * BM + offset), BN) } else { cdiv(t, BN) };
    copy_async(gq, sq);
    copy_async(gk[.., .., 0], sk);
    commit();
    for j in 0..tiles {
        wait(0);
        sync();
        // The values arrive while the scores are computed.
        copy_async(gv[.., .., j], sv);
        commit();
        let scores = register_tensor(f32, [BM, BN]);
        fill(scores, 0.0);
        gemm(scores, sq, sk);
        if (j + 1) * BN > t || CAUSAL && (j + 1) * BN > bm * BM + offset + 1 {
            let row = index(scores, 0) + (bm * BM + offset);
            let col = index(scores, 1) + j * BN;
            let visible = if CAUSAL { col < t && col <= row } else { col < t };
            scores = where(visible, scores, -inf);
        }
        let new_max = max(row_max, max(scores, axis: 1));
        let top = new_max * factor;
        let p = exp2(scores * factor - top);
        let fade = exp2((row_max - new_max) * factor);
        row_sum = row_sum * fade + sum(p, axis: 1);
        row_max = new_max;
        acc = acc * fade;
        wait(0);
        sync();
        if j + 1 < tiles {
            // The next keys arrive while the values are multiplied.
            copy_async(gk[.., .., j + 1], sk);
            commit();
        }
        gemm(acc, cast(p, T), sv.T);
    }
    wait(0);
    let norm = where(row_sum == 0.0, 0.0, 1.0 / row_sum);
    copy(cast(acc * norm, T), tile(o[batch, head], [BM, D])[.., .., bm, 0]);
}

test "attention agrees with the reference" for (s, t, causal) in [
    (128, 128, false),
    (128, 128, true),
    (72, 100, false),
    (72, 100, true),
] {
    let q = randn(f16, [2, 2, s, 64], seed: 1);
    let k = randn(f16, [2, 1, t, 64], seed: 2);
    let v = randn(f16, [2, 1, t, 64], seed: 3);
    let o = empty(f16, [2, 2, s, 64]);
    attention<BM = 64, BN = 32, D = 64, CAUSAL = causal>(q, k, v, o, 0.125);
    assert(conflicts() == 0 && redistributions() == 0);
    assert(bytes_per_access("sq") == 16 && bytes_per_access("sk") == 16 && bytes_per_access("sv") == 16);
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

test "heads of any size, no spills, no bank conflicts" for (d, m, n, threads) in [
    (64, 128, 128, 128),
    (96, 64, 64, 128),
    (128, 128, 64, 128),
    (128, 128, 64, 256),
    (192, 64, 64, 128),
    (256, 64, 32, 128),
] {
    let q = randn(f16, [1, 1, 130, d], seed: 1);
    let k = randn(f16, [1, 1, 140, d], seed: 2);
    let v = randn(f16, [1, 1, 140, d], seed: 3);
    let o = empty(f16, [1, 1, 130, d]);
    attention<BM = m, BN = n, D = d, CAUSAL = false, THREADS = threads>(q, k, v, o, 0.1);
    // On sm_90a rows of 96 lie in three chunks of 32. Eight threads that copy 128 bytes of a row write to two chunks, whose bytes are
    // in the same banks: each of four copies takes 192 wavefronts instead of 128.
    assert_eq(conflicts(), if d == 96 && target() == "sm_90a" { 256 } else { 0 });
    assert(redistributions() == 0);
    assert(bytes_per_access("sq") == 16 && bytes_per_access("sk") == 16 && bytes_per_access("sv") == 16);
    assert(spills() == 0);
    let x = q[0, 0] @ k[0, 0].T * 0.1;
    assert_close(o[0, 0], softmax(x, axis: 1) @ v[0, 0], rtol: 5e-3, atol: 2e-3);
}

test "rows that see nothing are zero" {
    let q = randn(f16, [1, 1, 96, 64], seed: 1);
    let k = randn(f16, [1, 1, 40, 64], seed: 2);
    let v = randn(f16, [1, 1, 40, 64], seed: 3);
    let o = empty(f16, [1, 1, 96, 64]);
    attention<BM = 64, BN = 32, D = 64>(q, k, v, o, 0.125);
    assert_eq(o[0, 0, 0..56], zeros(f16, [56, 64]));
    let row = reshape(arange(i64, [40]), [40, 1]);
    let col = reshape(arange(i64, [40]), [1, 40]);
    let x = where(col <= row, q[0, 0, 56..96] @ k[0, 0].T * 0.125, -inf);
    assert_close(o[0, 0, 56..96], softmax(x, axis: 1) @ v[0, 0], rtol: 5e-3, atol: 2e-3);
}

test "attention of bf16" {
    let q = randn(bf16, [1, 1, 64, 64], seed: 1);
    let k = randn(bf16, [1, 1, 64, 64], seed: 2);
    let v = randn(bf16, [1, 1, 64, 64], seed: 3);
    let o = empty(bf16, [1, 1, 64, 64]);
    attention<BM = 64, BN = 32, D = 64, CAUSAL = false>(q, k, v, o, 0.125);
    let x = q[0, 0] @ k[0, 0].T * 0.125;
    assert_close(o[0, 0], softmax(x, axis: 1) @ v[0, 0], rtol: 3e-2, atol: 2e-2);
}

bench "attention 16 × 16 heads of 128, 4096 positions" {
    let q = randn(f16, [16, 16, 4096, 128], seed: 1);
    let k = randn(f16, [16, 16, 4096, 128], seed: 2);
    let v = randn(f16, [16, 16, 4096, 128], seed: 3);
    let o = empty(f16, [16, 16, 4096, 128]);
    measure flops 4 * 256 * 4096 * 4096 * 128 { attention<CAUSAL = false>(q, k, v, o, 0.0884) }
}

bench "causal attention 16 × 16 heads of 128, 4096 positions" {
    let q = randn(f16, [16, 16, 4096, 128], seed: 1);
    let k = randn(f16, [16, 16, 4096, 128], seed: 2);
    let v = randn(f16, [16, 16, 4096, 128], seed: 3);
    let o = empty(f16, [16, 16, 4096, 128]);
    measure flops 2 * 256 * 4096 * 4096 * 128 { attention(q, k, v, o, 0.0884) }
}

//! Attention backward for warp groups: blocks of keys stay, and queries stream by.
//!
//! As in FlashAttention-3, a role of its own adds dq, block by block: the consumers hand the tiles on and go on with the next queries.

use std::math::LOG2E;

/// delta = the sum over D of o · go, for each row.
kernel row_dots<D = 64, BM = 32, T: type = f16>(o: T[b, h, s, D], go: T[b, h, s, D], delta: mut f32[b, h, s])
    grid [cdiv(s, BM), h, b]
    threads 128
{
    let [i, head, batch] = block_idx;
    let x = cast(load(tile(o[batch, head], [BM, D])[.., .., i, 0]), f32);
    let y = cast(load(tile(go[batch, head], [BM, D])[.., .., i, 0]), f32);
    copy(sum(x * y, axis: 1)[.., 0], tile(delta[batch, head], [BM])[.., i]);
}

/// dq += dS · k · scale, dk = dSᵀ · q · scale, dv = Pᵀ · go, for o = softmax(scale · q·kᵀ) · v, where the last query sees the last key if
/// `CAUSAL`. `lse` is the natural logarithm of the sum of each row of exp(scale · q·kᵀ), `delta` comes from [`row_dots`], and `dq` is zeros
/// before.
kernel attention_backward<D = 64, BM = 64, BN = 128, STAGES = 2, OUT = 2, CAUSAL = true, T: type = f16>(
    q: T[b, h, s, D],
    k: T[b, h, t, D],
    v: T[b, h, t, D],
    go: T[b, h, s, D],
    lse: f32[b, h, s],
    delta: f32[b, h, s],
    dq: mut f32[b, h, s, D],
    dk: mut T[b, h, t, D],
    dv: mut T[b, h, t, D],
    scale: f32,
)
    grid [cdiv(t, BN), h, b]
{
    let [bn, head, batch] = block_idx;
    let (sk, sv) = (shared_tensor(T, [BN, D]), shared_tensor(T, [BN, D]));
    let (sq, sg) = (shared_tensor(T, [BM, D, STAGES]), shared_tensor(T, [BM, D, STAGES]));
    let (sl, sd) = (shared_tensor(f32, [BM, STAGES]), shared_tensor(f32, [BM, STAGES]));
    let out = shared_tensor(f32, [BM, D, OUT]);
    let (once, pipe, results) = (pipeline(1), pipeline(STAGES), pipeline(OUT));
    // The first block of queries that sees a key of this block.
    let first = if CAUSAL { max(0, bn * BN + s - t) / BM } else { 0 };
    let rounds = cdiv(s, BM) - first;
    warp_groups {
        producer {
            once.acquire();
            copy_async(tile(k[batch, head], [BN, D])[.., .., bn, 0], sk, signal: once);
            copy_async(tile(v[batch, head], [BN, D])[.., .., bn, 0], sv, signal: once);
            for j in 0..rounds {
                let i = pipe.acquire();
                copy_async(tile(q[batch, head], [BM, D])[.., .., first + j, 0], sq[.., .., i], signal: pipe);
                copy_async(tile(go[batch, head], [BM, D])[.., .., first + j, 0], sg[.., .., i], signal: pipe);
                copy_async(tile(lse[batch, head], [BM])[.., first + j], sl[.., i], signal: pipe);
                copy_async(tile(delta[batch, head], [BM])[.., first + j], sd[.., i], signal: pipe);
            }
        }
        consumer 2 {
            let (x, y) = (register_tensor(f32, [BN, BM]), register_tensor(f32, [BN, BM]));
            let (gk, gv) = (register_tensor(f32, [BN, D]), register_tensor(f32, [BN, D]));
            let gq = register_tensor(f32, [BM, D]);
            let ss = shared_tensor(T, [BN, BM]);
            let factor = scale * LOG2E;
            fill(gk, 0.0);
            fill(gv, 0.0);
            once.wait();
            for j in 0..rounds {
                let i = pipe.wait();
                fill(x, 0.0);
                gemm_async(x, sk, sq[.., .., i]);
                fill(y, 0.0);
                gemm_async(y, sv, sg[.., .., i]);
                let l = load(sl[.., i])[new, ..] * LOG2E;
                gemm_wait(1);
                let p = exp2(x * factor - l);
                let (col, row) = (
                    index(p, 0) + cast(bn * BN, i32),
                    index(p, 1) + cast((first + j) * BM + t - s, i32),
                );
                let seen = if CAUSAL { col < cast(t, i32) && col <= row } else { col < cast(t, i32) };
                p = where(seen, p, 0.0);
                let p16 = cast(p, T);
                gemm_wait(0);
                let d = load(sd[.., i])[new, ..];
                let ds = cast(p * (y - d), T);
                gemm_async(gv, p16, sg[.., .., i].T);
                sync();
                copy(ds, ss);
                gemm_async(gk, ds, sq[.., .., i].T);
                sync();
                fill(gq, 0.0);
                gemm_async(gq, ss.T, sk.T);
                gemm_wait(0);
                pipe.release();
                let r = results.acquire();
                copy(gq * scale, out[.., .., r]);
                results.publish();
            }
            sync();
            copy(cast(gk * scale, T), sk);
            copy(cast(gv, T), sv);
            sync();
            copy_async(sk, tile(dk[batch, head], [BN, D])[.., .., bn, 0]);
            copy_async(sv, tile(dv[batch, head], [BN, D])[.., .., bn, 0]);
            once.release();
        }
        consumer {
            for j in 0..rounds {
                let r = results.wait();
                copy_async(out[.., .., r], tile(dq[batch, head], [BM, D])[.., .., first + j, 0], add: true);
                wait_stores(0);
                results.release();
            }
        }
    }
}

test "attention backward" for (s, t, d, causal) in [
    (200, 200, 64, true),
    (137, 91, 64, false),
    (72, 136, 128, true),
] {
    let (b, h) = (1, 2);
    let q = randn(f16, [b, h, s, d], seed: 1);
    let k = randn(f16, [b, h, t, d], seed: 2);
    let v = randn(f16, [b, h, t, d], seed: 3);
    let go = randn(f16, [b, h, s, d], seed: 4);
    let (o, lse) = (empty(f16, [b, h, s, d]), empty(f32, [b, h, s]));
    let scale = 0.1;
    let row = reshape(arange(i64, [s]), [s, 1]) + (t - s);
    let col = reshape(arange(i64, [t]), [1, t]);
    for j in 0..h {
        let x = q[0, j] @ k[0, j].T * scale;
        let y = if causal { where(col <= row, x, -inf) } else { x };
        let top = max(y, axis: 1);
        lse[0, j] = top + log(sum(exp(y - reshape(top, [s, 1])), axis: 1));
        o[0, j] = softmax(y, axis: 1) @ v[0, j];
    }
    let (delta, dq) = (empty(f32, [b, h, s]), zeros(f32, [b, h, s, d]));
    let (dk, dv) = (empty(f16, [b, h, t, d]), empty(f16, [b, h, t, d]));
    row_dots<D = d>(o, go, delta);
    attention_backward<D = d, CAUSAL = causal>(q, k, v, go, lse, delta, dq, dk, dv, scale);
    assert(uses("wgmma") && uses("tma.load") && uses("tma.store"));
    assert(spills() == 0 && redistributions() == 0 && conflicts() == 0);
    for j in 0..h {
        let x = q[0, j] @ k[0, j].T * scale;
        let p = softmax(if causal { where(col <= row, x, -inf) } else { x }, axis: 1);
        let dp = go[0, j] @ v[0, j].T;
        let ds = p * (dp - sum(dp * p, axis: 1, keepdims: true));
        assert_close(dv[0, j], p.T @ go[0, j], rtol: 5e-3, atol: 5e-3);
        assert_close(dk[0, j], ds.T @ q[0, j] * scale, rtol: 5e-3, atol: 5e-3);
        assert_close(dq[0, j], ds @ k[0, j] * scale, rtol: 5e-3, atol: 5e-3);
    }
}

bench "attention backward, 8192 positions in all, 2048 elements of all heads" for (d, s, causal) in [
    (64, 4096, true),
    (128, 4096, false),
    (128, 4096, true),
] {
    let (b, h) = (8192 / s, 2048 / d);
    let (q, k) = (randn(f16, [b, h, s, d], seed: 1), randn(f16, [b, h, s, d], seed: 2));
    let (v, go) = (randn(f16, [b, h, s, d], seed: 3), randn(f16, [b, h, s, d], seed: 4));
    let (lse, delta) = (full(f32, [b, h, s], 9.0), full(f32, [b, h, s], 0.1));
    let (dq, dk, dv) = (zeros(f32, [b, h, s, d]), empty(f16, [b, h, s, d]), empty(f16, [b, h, s, d]));
    measure flops (if causal { 5 } else { 10 }) * b * h * s * s * d {
        attention_backward<D = d, CAUSAL = causal>(q, k, v, go, lse, delta, dq, dk, dv, 0.1)
    }
}

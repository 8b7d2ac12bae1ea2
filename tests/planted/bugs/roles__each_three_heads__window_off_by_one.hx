// planted: HX0612 in test
// The window is compared with `<` instead of `<=`. Shows on every launch with keys at the edge of the window; with window = 0 a
// query sees nothing and the output is 0 / 0.
use std::math::LOG2E;

/// Attention of three heads to one head of keys and values, a group of threads for each of the heads: `consumer each 3`, and every group
/// reads every stage. Queries see the keys that are not more than `window` positions behind them.
kernel each_three_heads<M = 64, D = 64, BN = 64, S = 2>(
    q: f16[3, s, D],
    k: f16[t, D],
    v: f16[t, D],
    o: mut f16[3, s, D],
    window: i32,
    scale: f32,
)
    where s == t, window >= 0
    grid [cdiv(s, M)]
{
    let bm = block_idx;
    let first = max(0, bm * M - window) / BN;
    let last = cdiv(min(t, (bm + 1) * M), BN);
    let sq = shared_tensor(f16, [M, D, 3]);
    let (sk, sv) = (shared_tensor(f16, [BN, D, S]), shared_tensor(f16, [BN, D, S]));
    let (queries, pipe) = (pipeline(1), pipeline(S));
    warp_groups {
        producer {
            queries.acquire();
            #[unroll]
            for h in 0..3 {
                copy_async(tile(q[h], [M, D])[.., .., bm, 0], sq[.., .., h], signal: queries);
            }
            for j in first..last {
                let i = pipe.acquire();
                copy_async(tile(k, [BN, D])[.., .., j, 0], sk[.., .., i], signal: pipe);
                copy_async(tile(v, [BN, D])[.., .., j, 0], sv[.., .., i], signal: pipe);
            }
        }
        consumer each 3 (g) {
            let (acc, x) = (register_tensor(f32, [M, D]), register_tensor(f32, [M, BN]));
            let (top, total) = (register_tensor(f32, [M, 1]), register_tensor(f32, [M, 1]));
            let factor = scale * LOG2E;
            fill(acc, 0.0);
            fill(top, -1.0e30);
            fill(total, 0.0);
            queries.wait();
            for j in first..last {
                let i = pipe.wait();
                fill(x, 0.0);
                gemm(x, sq[.., .., g], sk[.., .., i]);
                let (row, col) = (index(x, 0) + bm * M, index(x, 1) + j * BN);
                x = where(col <= row && row - col < window && col < t, x, -inf);
                let higher = max(top, max(x, axis: 1));
                let fade = exp2((top - higher) * factor);
                x = exp2((x - higher) * factor);
                total = total * fade + sum(x, axis: 1);
                top = higher;
                acc = acc * fade;
                gemm(acc, cast(x, f16), sv[.., .., i].T);
                pipe.release();
            }
            queries.release();
            copy(cast(acc / total, f16), tile(o[g], [M, D])[.., .., bm, 0]);
        }
    }
}

test "three heads" for (s, window) in [(64, 1000), (200, 70), (130, 0), (256, 10)] {
    let q = randn(f16, [3, s, 64], seed: 1);
    let (k, v) = (randn(f16, [s, 64], seed: 2), randn(f16, [s, 64], seed: 3));
    let o = empty(f16, [3, s, 64]);
    each_three_heads(q, k, v, o, window, 0.125);
    let behind = reshape(arange(i64, [s]), [s, 1]) - reshape(arange(i64, [s]), [1, s]);
    for h in 0..3 {
        let x = where(behind >= 0 && behind <= window, q[h] @ k.T * 0.125, -inf);
        assert_close(o[h], softmax(x, axis: 1) @ v, rtol: 5e-3, atol: 2e-3);
    }
}

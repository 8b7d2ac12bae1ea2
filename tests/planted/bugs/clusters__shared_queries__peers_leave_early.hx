// planted: HX0404 in check
// Only the blocks of even heads copy keys, as if the others got them by the multicast without a copy of their own. Shows on every
// launch: every block has to bring its part of each shared tile, so the stages never fill and all consumers wait for ever.
/// Scores of `H` heads against one head of keys: s[h] = q[h] · kᵀ. The blocks of a cluster have a head each, and share every tile of keys.
kernel shared_queries<BM = 64, BN = 64, D = 64, H = 4, S = 2>(
    q: f16[h, m, D],
    k: f16[t, D],
    s: mut f32[h, m, t],
)
    where h % H == 0
    grid [h, cdiv(m, BM)]
    cluster [H, 1]
{
    let [head, bm] = block_idx;
    let sq = shared_tensor(f16, [BM, D, 1]);
    let sk = shared_tensor(f16, [BN, D, S]);
    let (queries, keys) = (pipeline(1), pipeline(S));
    warp_groups {
        producer {
            let i = queries.acquire();
            copy_async(tile(q[head], [BM, D])[.., .., bm, 0], sq[.., .., i], signal: queries);
            if head % 2 == 0 {
                for j in 0..cdiv(t, BN) {
                    let i = keys.acquire();
                    copy_async(tile(k, [BN, D])[.., .., j, 0], sk[.., .., i], signal: keys, multicast: 0);
                }
            }
        }
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            let iq = queries.wait();
            for j in 0..cdiv(t, BN) {
                let i = keys.wait();
                fill(acc, 0.0);
                gemm_async(acc, sq[.., .., iq], sk[.., .., i]);
                gemm_wait(0);
                keys.release();
                copy(acc, tile(s[head], [BM, BN])[.., .., bm, j]);
            }
            queries.release();
        }
    }
}

test "heads share keys" for (h, m, t) in [(4, 64, 64), (8, 100, 200), (4, 8, 300)] {
    let (q, k) = (randn(f16, [h, m, 64], seed: 1), randn(f16, [t, 64], seed: 2));
    let s = empty(f32, [h, m, t]);
    shared_queries(q, k, s);
    for i in 0..h {
        assert_close(s[i], q[i] @ k.T, rtol: 1e-3, atol: 1e-3);
    }
}

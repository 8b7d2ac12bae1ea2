// planted: HX0612 in test
// Both roles loop to before the tile on the diagonal. Shows on every launch: the tiles on the diagonal are not computed, and s
// keeps what it had there.
/// Causal scores, a tile at a time: s = q · kᵀ for the tiles on and below the diagonal. Blocks draw the tiles from a counter, the longest rows
/// first; a tile above the diagonal is never drawn.
kernel drawn_tiles<B = 64, D = 64, S = 3>(q: f16[n, D], k: f16[n, D], s: mut f32[n, n], next: mut i32[1])
    grid [min(multiprocessors, cdiv(n, B))]
{
    let tiles = cdiv(n, B);
    let (sq, sk) = (shared_tensor(f16, [B, D, 1]), shared_tensor(f16, [B, D, S]));
    let (queries, keys) = (pipeline(1), pipeline(S));
    let work = counter(next, tiles);
    warp_groups {
        producer {
            for t in work {
                let bm = tiles - 1 - t;
                let i = queries.acquire();
                copy_async(tile(q, [B, D])[.., .., bm, 0], sq[.., .., i], signal: queries);
                for bn in 0..bm {
                    let i = keys.acquire();
                    copy_async(tile(k, [B, D])[.., .., bn, 0], sk[.., .., i], signal: keys);
                }
            }
        }
        consumer {
            let acc = register_tensor(f32, [B, B]);
            for t in work {
                let bm = tiles - 1 - t;
                let iq = queries.wait();
                for bn in 0..bm {
                    let i = keys.wait();
                    fill(acc, 0.0);
                    gemm_async(acc, sq[.., .., iq], sk[.., .., i]);
                    gemm_wait(0);
                    keys.release();
                    copy(acc, tile(s, [B, B])[.., .., bm, bn]);
                }
                queries.release();
            }
        }
    }
}

test "tiles below the diagonal" for n in [64, 200, 500, 8] {
    let (q, k) = (randn(f16, [n, 64], seed: 1), randn(f16, [n, 64], seed: 2));
    let s = full(f32, [n, n], 7.0);
    let next = zeros(i32, [1]);
    for _ in 0..2 {
        drawn_tiles(q, k, s, next);
        assert_eq(next[0], 0);
        let tiles = cdiv(n, 64);
        for i in 0..tiles {
            let (first, end) = (i * 64, min(n, i * 64 + 64));
            assert_close(s[first..end, ..end], q[first..end] @ k[..end].T, rtol: 1e-3, atol: 1e-3);
            assert_eq(s[first..end, end..], full(f32, [end - first, n - end], 7.0));
        }
    }
}

/// c = a · bᵀ: four blocks compute two by two tiles; pairs of them share the tiles of `a`, other pairs those of `b`. The squares are dealt to
/// persistent clusters.
kernel square_tiles<BM = 64, BN = 64, BK = 32, S = 3>(a: bf16[m, k], b: bf16[n, k], c: mut f32[m, n])
    grid [2 * min(2, cdiv(m, 2 * BM) * cdiv(n, 2 * BN)), 2]
    cluster [2, 2]
{
    let [x, j] = block_idx;
    let [width, _] = grid_dim;
    let (i, square, squares) = (x % 2, x / 2, width / 2);
    let (rows, columns) = (cdiv(m, 2 * BM), cdiv(n, 2 * BN));
    let rounds = cdiv(rows * columns - square, squares);
    let (sa, sb) = (shared_tensor(bf16, [BM, BK, S]), shared_tensor(bf16, [BN, BK, S]));
    let pipe = pipeline(S);
    warp_groups {
        producer {
            for w in 0..rounds {
                let t = square + w * squares;
                let (bm, bn) = (2 * (t % rows) + i, 2 * (t / rows) + j);
                for ki in 0..cdiv(k, BK) {
                    let s = pipe.acquire();
                    copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s], signal: pipe, multicast: 1);
                    copy_async(tile(b, [BN, BK])[.., .., bn, ki], sb[.., .., s], signal: pipe, multicast: 0);
                }
            }
        }
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            for w in 0..rounds {
                let t = square + w * squares;
                let (bm, bn) = (2 * (t % rows) + i, 2 * (t / rows) + j);
                fill(acc, 0.0);
                for _ in 0..cdiv(k, BK) {
                    let s = pipe.wait();
                    gemm_async(acc, sa[.., .., s], sb[.., .., s]);
                    gemm_wait(1);
                    pipe.release_previous();
                }
                gemm_wait(0);
                pipe.release();
                copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
            }
        }
    }
}

test "squares of tiles" for (m, n, k) in [(128, 128, 64), (200, 136, 72), (300, 400, 136), (8, 8, 8)] {
    let (a, b) = (randn(bf16, [m, k], seed: 1), randn(bf16, [n, k], seed: 2));
    let c = empty(f32, [m, n]);
    square_tiles(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-3, atol: 1e-3);
}

// planted: HX0401 in check
// `wait_stores(0)` is missing. Shows in clusters with two tiles or more: the slot is overwritten while the copy unit reads the
// tile before.
/// c = gelu(a · bᵀ), split along K over the blocks of a cluster, which walk over the tiles together. Every block gets a part of the columns of
/// the sum, applies the function and stores it in boxes, through one slot.
kernel split_product<BM = 64, BN = 64, BK = 32, C = 2, S = 3>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [C * min(2, cdiv(m, BM) * cdiv(n, BN))]
    cluster [C]
{
    let (rank, pair, pairs) = (block_idx % C, block_idx / C, grid_dim / C);
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - pair, pairs);
    let (first, end) = (rank * steps / C, (rank + 1) * steps / C);
    let (sa, sb) = (shared_tensor(f16, [BM, BK, S]), shared_tensor(f16, [BN, BK, S]));
    let pipe = pipeline(S);
    warp_groups {
        producer {
            for w in 0..rounds {
                let t = pair + w * pairs;
                for i in first..end {
                    let s = pipe.acquire();
                    copy_async(tile(a, [BM, BK])[.., .., t % rows, i], sa[.., .., s], signal: pipe);
                    copy_async(tile(b, [BN, BK])[.., .., t / rows, i], sb[.., .., s], signal: pipe);
                }
            }
        }
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            let slot = shared_tensor(f16, [BM, BN / C]);
            for w in 0..rounds {
                let t = pair + w * pairs;
                fill(acc, 0.0);
                for _ in 0..end - first {
                    let s = pipe.wait();
                    gemm_async(acc, sa[.., .., s], sb[.., .., s]);
                    gemm_wait(1);
                    pipe.release_previous();
                }
                gemm_wait(0);
                pipe.release();
                let part = sum(acc, cluster: 0, scatter: 1);
                let out = part * 0.5 * (1.0 + erf(part * 0.7071067811865476));
                sync();
                copy(cast(out, f16), slot);
                sync();
                copy_async(slot, tile(c, [BM, BN / C])[.., .., t % rows, t / rows * C + rank]);
            }
        }
    }
}

test "a split product" for (m, n, k) in [(64, 64, 64), (200, 136, 200), (300, 72, 40), (8, 300, 24)] {
    let (a, b) = (randn(f16, [m, k], seed: 1), randn(f16, [n, k], seed: 2));
    let c = empty(f16, [m, n]);
    split_product(a, b, c);
    let x = a @ b.T;
    assert_close(c, x * 0.5 * (1.0 + erf(x * 0.7071067811865476)), ulp: 8, atol: 1e-3);
}

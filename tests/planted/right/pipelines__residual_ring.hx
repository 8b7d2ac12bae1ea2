/// c = a · bᵀ + r: the tiles of the factors come through a ring of `STAGES` stages, the residual through a ring of its own, of one
/// stage, which is filled a whole tile ahead. The blocks are persistent.
kernel residual_ring<BM = 64, BN = 64, BK = 32, STAGES = 3>(
    a: f16[m, k],
    b: f16[n, k],
    r: f16[m, n],
    c: mut f16[m, n],
)
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - block_idx, grid_dim);
    let sa = shared_tensor(f16, [BM, BK, STAGES]);
    let sb = shared_tensor(f16, [BN, BK, STAGES]);
    let sr = shared_tensor(f16, [BM, BN, 1]);
    let (factors, residual) = (pipeline(STAGES), pipeline(1));
    warp_groups {
        producer {
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                let j = residual.acquire();
                copy_async(tile(r, [BM, BN])[.., .., t % rows, t / rows], sr[.., .., j], signal: residual);
                for ki in 0..steps {
                    let s = factors.acquire();
                    copy_async(tile(a, [BM, BK])[.., .., t % rows, ki], sa[.., .., s], signal: factors);
                    copy_async(tile(b, [BN, BK])[.., .., t / rows, ki], sb[.., .., s], signal: factors);
                }
            }
        }
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                fill(acc, 0.0);
                for _ in 0..steps {
                    let s = factors.wait();
                    gemm_async(acc, sa[.., .., s], sb[.., .., s]);
                    gemm_wait(1);
                    factors.release_previous();
                }
                gemm_wait(0);
                factors.release();
                let j = residual.wait();
                let sum = acc + cast(load(sr[.., .., j]), f32);
                residual.release();
                copy(cast(sum, f16), tile(c, [BM, BN])[.., .., t % rows, t / rows]);
            }
        }
    }
}

test "a residual is added" for (m, n, k) in [(64, 64, 32), (136, 200, 104), (300, 72, 8), (520, 136, 64)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let r = randn(f16, [m, n], seed: 3);
    let c = empty(f16, [m, n]);
    residual_ring(a, b, r, c);
    assert_close(c, a @ b.T + r, ulp: 4);
}

/// y = x · wᵀ for few columns: the weights of a block of columns stay in shared memory for the whole launch, and the rows of `x` stream
/// past them through a ring. Blocks along axis 1 take every `grid_dim`-th tile of rows.
kernel stationary_weights<BM = 64, BN = 32, D = 64, STAGES = 3>(x: f16[m, D], w: f16[n, D], y: mut f16[m, n])
    grid [cdiv(n, BN), min(3, cdiv(m, BM))]
{
    let [bn, first] = block_idx;
    let [_, blocks] = grid_dim;
    let rounds = cdiv(cdiv(m, BM) - first, blocks);
    let sw = shared_tensor(f16, [BN, D, 1]);
    let sx = shared_tensor(f16, [BM, D, STAGES]);
    let (weights, rows) = (pipeline(1), pipeline(STAGES));
    warp_groups {
        producer {
            let j = weights.acquire();
            copy_async(tile(w, [BN, D])[.., .., bn, 0], sw[.., .., j], signal: weights);
            for i in 0..rounds {
                let s = rows.acquire();
                copy_async(tile(x, [BM, D])[.., .., first + i * blocks, 0], sx[.., .., s], signal: rows);
            }
        }
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            let j = weights.wait();
            for i in 0..rounds {
                let s = rows.wait();
                fill(acc, 0.0);
                gemm_async(acc, sx[.., .., s], sw[.., .., j]);
                gemm_wait(0);
                rows.release();
                copy(cast(acc, f16), tile(y, [BM, BN])[.., .., first + i * blocks, bn]);
            }
            weights.release();
        }
    }
}

test "weights stay" for (m, n) in [(64, 32), (500, 72), (1000, 8), (65, 100), (300, 100)] {
    let x = randn(f16, [m, 64], seed: 1);
    let w = randn(f16, [n, 64], seed: 2);
    let y = empty(f16, [m, n]);
    stationary_weights(x, w, y);
    assert_close(y, x @ w.T, ulp: 4);
}

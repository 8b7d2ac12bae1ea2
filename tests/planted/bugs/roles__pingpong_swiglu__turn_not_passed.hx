// planted: HX0404 in check
// `order.pass()` is missing: the turn never goes to group 1. Shows in blocks with two tiles or more: group 1 waits for ever in
// `take()`.
/// y = silu(x · gᵀ) · (x · uᵀ): two groups take the tiles of a block alternately. One multiplies while the other computes the gate and
/// stores; `turns` keeps their products apart.
kernel pingpong_swiglu<BM = 64, BN = 32, BK = 32, STAGES = 3>(
    x: f16[m, k],
    gate: f16[n, k],
    up: f16[n, k],
    y: mut f16[m, n],
)
    grid [min(2, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let rounds = cdiv(rows * columns - block_idx, grid_dim);
    let sx = shared_tensor(f16, [BM, BK, STAGES]);
    let sg = shared_tensor(f16, [BN, BK, STAGES]);
    let su = shared_tensor(f16, [BN, BK, STAGES]);
    let (pipe, order) = (pipeline(STAGES, readers: 1), turns());
    warp_groups {
        producer {
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                for ki in 0..steps {
                    let s = pipe.acquire();
                    copy_async(tile(x, [BM, BK])[.., .., t % rows, ki], sx[.., .., s], signal: pipe);
                    copy_async(tile(gate, [BN, BK])[.., .., t / rows, ki], sg[.., .., s], signal: pipe);
                    copy_async(tile(up, [BN, BK])[.., .., t / rows, ki], su[.., .., s], signal: pipe);
                }
            }
        }
        consumer each 2 (g) {
            let (left, right) = (register_tensor(f32, [BM, BN]), register_tensor(f32, [BM, BN]));
            pipe.skip(g * steps);
            for w in 0..cdiv(rounds - g, 2) {
                let t = block_idx + (2 * w + g) * grid_dim;
                fill(left, 0.0);
                fill(right, 0.0);
                order.take();
                for _ in 0..steps {
                    let s = pipe.wait();
                    gemm_async(left, sx[.., .., s], sg[.., .., s]);
                    gemm_async(right, sx[.., .., s], su[.., .., s]);
                    gemm_wait(2);
                    pipe.release_previous();
                }
                gemm_wait(0);
                pipe.release();
                pipe.skip(steps);
                copy(cast(left * sigmoid(left) * right, f16), tile(y, [BM, BN])[.., .., t % rows, t / rows]);
            }
        }
    }
}

test "a gated product" for (m, n, k) in [(64, 32, 64), (200, 72, 104), (300, 8, 40), (64, 100, 200)] {
    let x = randn(f16, [m, k], seed: 1);
    let gate = cast(randn(f32, [n, k], seed: 2) * 0.2, f16);
    let up = randn(f16, [n, k], seed: 3);
    let y = empty(f16, [m, n]);
    pingpong_swiglu(x, gate, up, y);
    let (l, r) = (x @ gate.T, x @ up.T);
    assert_close(y, l / (1.0 + exp(-l)) * r, ulp: 8);
}

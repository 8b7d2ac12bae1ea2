// planted: HX0612 in test
// The bias is taken at slice `j` and not at the slice's column. Shows for n > 96: all tiles of columns get the bias of the first
// one.
/// c = relu(a · bᵀ + bias): a role of three groups multiplies tiles of 192 rows; a tile leaves in slices of 32 columns through two slots.
kernel three_groups<BM = 192, BN = 96, BK = 32, STAGES = 3, W = 32>(
    a: f16[m, k],
    b: f16[n, k],
    bias: f32[n],
    c: mut f16[m, n],
)
    grid [min(2, cdiv(m, BM) * cdiv(n, BN))]
{
    let (rows, columns) = (cdiv(m, BM), cdiv(n, BN));
    let rounds = cdiv(rows * columns - block_idx, grid_dim);
    let sa = shared_tensor(f16, [BM, BK, STAGES]);
    let sb = shared_tensor(f16, [BN, BK, STAGES]);
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                for ki in 0..cdiv(k, BK) {
                    let s = pipe.acquire();
                    copy_async(tile(a, [BM, BK])[.., .., t % rows, ki], sa[.., .., s], signal: pipe);
                    copy_async(tile(b, [BN, BK])[.., .., t / rows, ki], sb[.., .., s], signal: pipe);
                }
            }
        }
        consumer 3 {
            let acc = register_tensor(f32, [BM, BN]);
            let slots = shared_tensor(f16, [BM, W, 2]);
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                fill(acc, 0.0);
                for _ in 0..cdiv(k, BK) {
                    let s = pipe.wait();
                    gemm_async(acc, sa[.., .., s], sb[.., .., s]);
                    gemm_wait(1);
                    pipe.release_previous();
                }
                gemm_wait(0);
                pipe.release();
                #[unroll]
                for j in 0..BN / W {
                    let slot = (w * (BN / W) + j) % 2;
                    let column = t / rows * (BN / W) + j;
                    let shift = load(tile(bias, [W])[.., j])[new, ..];
                    wait_stores(1);
                    sync();
                    copy(cast(max(acc[.., j * W..(j + 1) * W] + shift, 0.0), f16), slots[.., .., slot]);
                    sync();
                    copy_async(slots[.., .., slot], tile(c, [BM, W])[.., .., t % rows, column]);
                }
            }
        }
    }
}

test "three groups" for (m, n, k) in [(192, 96, 64), (200, 200, 40), (390, 296, 104)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let bias = randn(f32, [n], seed: 3);
    let c = empty(f16, [m, n]);
    three_groups(a, b, bias, c);
    assert_close(c, max(a @ b.T + bias, 0.0), ulp: 4);
}

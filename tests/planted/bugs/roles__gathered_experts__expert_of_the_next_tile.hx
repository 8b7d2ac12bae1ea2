// planted: HX0612 in test
// The expert is that of the tile behind, with the last tile clamped. Shows where neighbouring tiles belong to different experts:
// rows are multiplied by another expert's weights.
/// Mixture of experts with sorted rows: tile `i` of rows belongs to expert `expert_of[i]`. The threads of the producer gather the rows of
/// `x` into the stages, while boxes bring the weights; two groups multiply.
kernel gathered_experts<BM = 128, BN = 64, BK = 32, S = 3>(
    x: f16[tokens, k],
    w: f16[experts, n, k],
    row_of: i32[rows],
    expert_of: i32[tiles],
    y: mut f16[rows, n],
)
    where k % 8 == 0, tiles == cdiv(rows, BM), experts >= 1
    grid [tiles, cdiv(n, BN)]
{
    let [bm, bn] = block_idx;
    let expert = max(0, min(expert_of[min(bm + 1, tiles - 1)], experts - 1));
    let (sx, sw) = (shared_tensor(f16, [BM, BK, S]), shared_tensor(f16, [BN, BK, S]));
    let pipe = pipeline(S);
    warp_groups {
        producer registers 56 {
            let gx = tile(gather(x, tile(row_of, [BM], pad: -1)[.., bm]), [BM, BK])[.., .., 0, ..];
            for ki in 0..cdiv(k, BK) {
                let s = pipe.acquire();
                copy_async(gx[.., .., ki], sx[.., .., s], signal: pipe);
                copy_async(tile(w[expert], [BN, BK])[.., .., bn, ki], sw[.., .., s], signal: pipe);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ in 0..cdiv(k, BK) {
                let s = pipe.wait();
                gemm_async(acc, sx[.., .., s], sw[.., .., s]);
                gemm_wait(1);
                pipe.release_previous();
            }
            gemm_wait(0);
            pipe.release();
            copy(cast(acc, f16), tile(y, [BM, BN])[.., .., bm, bn]);
        }
    }
}

test "rows go to experts" for (tokens, rows, n, k) in [
    (40, 128, 64, 64),
    (300, 300, 72, 104),
    (17, 200, 8, 40),
] {
    let x = randn(f16, [tokens, k], seed: 1);
    let w = randn(f16, [3, n, k], seed: 2);
    let row_of = uniform(i32, [rows], seed: 3, low: -1, high: tokens);
    let tiles = cdiv(rows, 128);
    let expert_of = uniform(i32, [tiles], seed: 4, low: 0, high: 3);
    let y = empty(f16, [rows, n]);
    gathered_experts(x, w, row_of, expert_of, y);
    for i in 0..rows {
        if row_of[i] >= 0 {
            let e = expert_of[i / 128];
            assert_close(y[i..i + 1], x[row_of[i]..row_of[i] + 1] @ w[e].T, ulp: 8);
        } else {
            assert_eq(y[i], zeros(f16, [n]));
        }
    }
}

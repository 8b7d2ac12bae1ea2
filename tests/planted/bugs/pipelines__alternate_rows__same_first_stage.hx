// planted: HX0413 in check
// `pipe.skip(g)` before the loop is missing, so both groups begin with stage 0. Shows on launches whose blocks have two rows or
// more: group 1 writes the even rows to the places of the odd ones, and stages with one reader are given back by two.
/// y = x normalized row by row to mean 0 and variance 1. Two groups take the rows of a block alternately out of one ring, whose stages have
/// one reader each. Rows are dealt to the blocks in turn, so the trip counts depend on the block.
kernel alternate_rows<N = 256, STAGES = 4>(x: f32[m, n], y: mut f32[m, n], eps: f32)
    where n <= N, n >= 1
    grid [min(3, m)]
{
    let rounds = cdiv(m - block_idx, grid_dim);
    let stages = shared_tensor(f32, [N, STAGES]);
    let pipe = pipeline(STAGES, readers: 1);
    warp_groups {
        producer {
            for i in 0..rounds {
                let s = pipe.acquire();
                copy_async(tile(x[block_idx + i * grid_dim], [N])[.., 0], stages[.., s], signal: pipe);
            }
        }
        consumer each 2 (g) {
            for i in 0..cdiv(rounds - g, 2) {
                let s = pipe.wait();
                let v = load(stages[.., s]);
                pipe.release();
                pipe.skip(1);
                let mean = sum(v, axis: 0) / cast(n, f32);
                let centred = where(index(v, 0) < n, v - mean, 0.0);
                let variance = sum(centred * centred, axis: 0) / cast(n, f32);
                copy(
                    centred * rsqrt(variance + eps),
                    tile(y[block_idx + (2 * i + g) * grid_dim], [N])[.., 0],
                );
            }
        }
    }
}

test "rows are normalized" for (m, n) in [(1, 256), (2, 100), (7, 37), (30, 256), (12, 4)] {
    let x = cast(randn(f32, [m, n], seed: 1) + 2.0, f32);
    let y = empty(f32, [m, n]);
    alternate_rows(x, y, 1e-5);
    let c = x - mean(x, axis: 1, keepdims: true);
    assert_close(y, c / sqrt(mean(c * c, axis: 1, keepdims: true) + 1e-5), rtol: 1e-4, atol: 1e-5);
}

// planted: HX0310 in check
// `acc` is not zeroed after it was added to `c`. Shows in blocks whose range has parts of two tiles or more: the sums of the tile
// before are added to the next one, too.
/// c += a · bᵀ as stream-K: the steps along K of all tiles are one sequence, of which every block takes an equal part. A block adds what it
/// has summed of a tile to `c` when it comes to the tile's end or to its own; `c` is zeros before the launch.
kernel stream_k<BM = 64, BN = 64, BK = 32, STAGES = 3>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    where k >= 1
    grid [min(multiprocessors, cdiv(m, BM) * cdiv(n, BN) * cdiv(k, BK))]
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let all = rows * columns * steps;
    let (first, end) = (block_idx * all / grid_dim, (block_idx + 1) * all / grid_dim);
    let sa = shared_tensor(f16, [BM, BK, STAGES]);
    let sb = shared_tensor(f16, [BN, BK, STAGES]);
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            for i in first..end {
                let (t, ki) = (i / steps, i % steps);
                let s = pipe.acquire();
                copy_async(tile(a, [BM, BK])[.., .., t % rows, ki], sa[.., .., s], signal: pipe);
                copy_async(tile(b, [BN, BK])[.., .., t / rows, ki], sb[.., .., s], signal: pipe);
            }
        }
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for i in first..end {
                let t = i / steps;
                let s = pipe.wait();
                gemm(acc, sa[.., .., s], sb[.., .., s]);
                pipe.release();
                if i % steps == steps - 1 || i == end - 1 {
                    atomic_add(tile(c, [BM, BN])[.., .., t % rows, t / rows], acc);
                }
            }
        }
    }
}

test "stream-K" for (m, n, k) in [(64, 64, 320), (136, 72, 200), (200, 136, 40), (8, 8, 8)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = zeros(f32, [m, n]);
    stream_k(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-3, atol: 1e-3);
}

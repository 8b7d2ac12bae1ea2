// planted: HX0401 in check
// The second loop waits for and gives back stages of the first ring while it reads the memory of the second. Shows on every
// launch with q > 0: the tiles of b are read before they have arrived, and then the consumer or a producer waits for ever.
/// y[i] = Σ_j a[i, j] · x[j] + Σ_j b[i, j] · z[j]: two roles copy, one the tiles of `a` and `x`, the other those of `b` and `z`, whose rows
/// may be longer; one role reads both rings, first all of one and then all of the other in each tile of rows.
kernel two_producers<BM = 32, BN = 64, S = 2>(
    a: f32[m, p],
    x: f32[p],
    b: f32[m, q],
    z: f32[q],
    y: mut f32[m, 1],
)
    where p % 4 == 0, q % 4 == 0
    grid [min(3, cdiv(m, BM))]
{
    let rounds = cdiv(cdiv(m, BM) - block_idx, grid_dim);
    let (sa, sx) = (shared_tensor(f32, [BM, BN, S]), shared_tensor(f32, [BN, S]));
    let (sb, sz) = (shared_tensor(f32, [BM, BN, S]), shared_tensor(f32, [BN, S]));
    let (first, second) = (pipeline(S), pipeline(S));
    warp_groups {
        producer {
            for w in 0..rounds {
                for j in 0..cdiv(p, BN) {
                    let s = first.acquire();
                    copy_async(
                        tile(a, [BM, BN])[.., .., block_idx + w * grid_dim, j],
                        sa[.., .., s],
                        signal: first,
                    );
                    copy_async(tile(x, [BN])[.., j], sx[.., s], signal: first);
                }
            }
        }
        producer {
            for w in 0..rounds {
                for j in 0..cdiv(q, BN) {
                    let s = second.acquire();
                    copy_async(
                        tile(b, [BM, BN])[.., .., block_idx + w * grid_dim, j],
                        sb[.., .., s],
                        signal: second,
                    );
                    copy_async(tile(z, [BN])[.., j], sz[.., s], signal: second);
                }
            }
        }
        consumer {
            for w in 0..rounds {
                let total = register_tensor(f32, [BM, BN]);
                fill(total, 0.0);
                for _ in 0..cdiv(p, BN) {
                    let s = first.wait();
                    total = total + load(sa[.., .., s]) * load(sx[.., s])[new, ..];
                    first.release();
                }
                for _ in 0..cdiv(q, BN) {
                    let s = first.wait();
                    total = total + load(sb[.., .., s]) * load(sz[.., s])[new, ..];
                    first.release();
                }
                copy(
                    rearrange(sum(total, axis: 1), auto),
                    tile(y, [BM, 1])[.., .., block_idx + w * grid_dim, 0],
                );
            }
        }
    }
}

test "two producers" for (m, p, q) in [(32, 64, 64), (100, 200, 36), (150, 4, 500), (7, 64, 0)] {
    let (a, b) = (randn(f32, [m, p], seed: 1), randn(f32, [m, q], seed: 2));
    let (x, z) = (randn(f32, [p], seed: 3), randn(f32, [q], seed: 4));
    let y = empty(f32, [m, 1]);
    two_producers(a, x, b, z, y);
    assert_close(y[.., 0], sum(a * x, axis: 1) + sum(b * z, axis: 1), rtol: 1e-4, atol: 1e-4);
}

// planted: HX0401 in check
// The stage of the scales is given back before they are loaded. Shows for more than two groups of K: the box of the scales two
// groups later may overwrite the stage first; a product is scaled with scales of another group, depending on the schedule.
/// c[i, j] = Σ over groups g of K: sa[i, g] · sb[j, g] · (a · bᵀ over the group): products of 8-bit integers, scaled group by group. The
/// scales come through a ring of their own, in step with the ring of the factors.
kernel scaled_groups<BM = 64, BN = 64, G = 64, STAGES = 3>(
    a: i8[m, k],
    b: i8[n, k],
    ascale: f32[g, m],
    bscale: f32[g, n],
    c: mut f32[m, n],
)
    where g == cdiv(k, G)
    grid [cdiv(m, BM), cdiv(n, BN)]
{
    let [bm, bn] = block_idx;
    let (sa, sb) = (shared_tensor(i8, [BM, G, STAGES]), shared_tensor(i8, [BN, G, STAGES]));
    let (fa, fb) = (shared_tensor(f32, [BM, 2]), shared_tensor(f32, [BN, 2]));
    let (factors, scales) = (pipeline(STAGES), pipeline(2));
    warp_groups {
        producer {
            for i in 0..g {
                let s = factors.acquire();
                copy_async(tile(a, [BM, G])[.., .., bm, i], sa[.., .., s], signal: factors);
                copy_async(tile(b, [BN, G])[.., .., bn, i], sb[.., .., s], signal: factors);
                let f = scales.acquire();
                copy_async(tile(ascale[i], [BM])[.., bm], fa[.., f], signal: scales);
                copy_async(tile(bscale[i], [BN])[.., bn], fb[.., f], signal: scales);
            }
        }
        consumer {
            let total = register_tensor(f32, [BM, BN]);
            let part = register_tensor(i32, [BM, BN]);
            fill(total, 0.0);
            for _ in 0..g {
                let s = factors.wait();
                fill(part, 0);
                gemm_async(part, sa[.., .., s], sb[.., .., s]);
                gemm_wait(0);
                factors.release();
                let f = scales.wait();
                scales.release();
                let by = load(fa[.., f])[.., new] * load(fb[.., f])[new, ..];
                total = total + cast(part, f32) * by;
            }
            copy(total, tile(c, [BM, BN])[.., .., bm, bn]);
        }
    }
}

test "groups have scales" for (m, n, k) in [(64, 64, 64), (100, 72, 200), (8, 132, 16), (64, 20, 512)] {
    let (a, b) = (
        uniform(i8, [m, k], low: -128, high: 128, seed: 1),
        uniform(i8, [n, k], low: -128, high: 128, seed: 2),
    );
    let g = cdiv(k, 64);
    let (ascale, bscale) = (
        uniform(f32, [g, m], low: 0.01, high: 0.1, seed: 3),
        uniform(f32, [g, n], low: 0.01, high: 0.1, seed: 4),
    );
    let c = empty(f32, [m, n]);
    scaled_groups(a, b, ascale, bscale, c);
    let expected = zeros(f64, [m, n]);
    for i in 0..g {
        let end = min(k, i * 64 + 64);
        expected = expected
            + (a[.., i * 64..end] @ b[.., i * 64..end].T)
                * reshape(ascale[i], [m, 1])
                * reshape(bscale[i], [1, n]);
    }
    assert_close(c, expected, rtol: 1e-4, atol: 1e-2);
}

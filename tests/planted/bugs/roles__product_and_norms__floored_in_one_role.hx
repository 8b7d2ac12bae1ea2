// planted: HX0612 in test
// The role of the norms makes `k / BK` rounds. Shows where k is no multiple of 32: the elements behind the last whole step are
// missing in the norms, and the last stage is not read by one of its readers; nothing hangs, because nobody needs that stage
// again.
/// c = a · bᵀ and norms[i] = Σ a[i]²: one role multiplies the tiles of a ring, another one reads the same stages of `a` for the norms; each
/// stage is given back by both.
kernel product_and_norms<BM = 64, BN = 64, BK = 32, STAGES = 3>(
    a: f16[m, k],
    b: f16[n, k],
    c: mut f32[m, n],
    norms: mut f32[m, 1],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(f16, [BM, BK, STAGES]);
    let sb = shared_tensor(f16, [BN, BK, STAGES]);
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            for ki in 0..cdiv(k, BK) {
                let s = pipe.acquire();
                copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s], signal: pipe);
                copy_async(tile(b, [BN, BK])[.., .., bn, ki], sb[.., .., s], signal: pipe);
            }
        }
        consumer {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ in 0..cdiv(k, BK) {
                let s = pipe.wait();
                gemm_async(acc, sa[.., .., s], sb[.., .., s]);
                gemm_wait(1);
                pipe.release_previous();
            }
            gemm_wait(0);
            pipe.release();
            copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
        }
        consumer {
            let squares = register_tensor(f32, [BM, BK]);
            fill(squares, 0.0);
            for _ in 0..k / BK {
                let s = pipe.wait();
                let v = cast(load(sa[.., .., s]), f32);
                pipe.release();
                squares = squares + v * v;
            }
            if bn == 0 {
                copy(rearrange(sum(squares, axis: 1), auto), tile(norms, [BM, 1])[.., .., bm, 0]);
            }
        }
    }
}

test "a product and norms" for (m, n, k) in [(64, 64, 32), (100, 136, 200), (130, 8, 264)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let (c, norms) = (empty(f32, [m, n]), empty(f32, [m, 1]));
    product_and_norms(a, b, c, norms);
    assert_close(c, a @ b.T, rtol: 1e-3, atol: 1e-3);
    assert_close(norms[.., 0], sum(a * a, axis: 1), rtol: 1e-4, atol: 1e-3);
}

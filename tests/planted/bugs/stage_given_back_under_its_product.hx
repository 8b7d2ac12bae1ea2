// planted: HX0406 in check
// A stage is given back while its product still reads it: a GPU is right for 1024 columns and wrong for 8192.
kernel early<BM = 128, BN = 128, STAGES = 4>(a: f16[m, k], s: f32[g], b: f16[n, k], c: mut f32[m, n])
    where g == cdiv(k, 64), g >= 1
    grid [cdiv(m, BM), cdiv(n, BN)]
{
    let [bm, bn] = block_idx;
    let (sa, sb) = (shared_tensor(f16, [BM, 64, STAGES]), shared_tensor(f16, [BN, 64, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            for ki in 0..cdiv(k, 64) {
                let i = pipe.acquire();
                copy_async(tile(a, [BM, 64])[.., .., bm, ki], sa[.., .., i], signal: pipe);
                copy_async(tile(b, [BN, 64])[.., .., bn, ki], sb[.., .., i], signal: pipe);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ki in 0..cdiv(k, 64) {
                let i = pipe.wait();
                gemm_async(acc, sa[.., .., i], sb[.., .., i]);
                gemm_wait(1);
                pipe.release();
            }
            gemm_wait(0);
            copy(acc * s[0], tile(c, [BM, BN])[.., .., bm, bn]);
        }
    }
}

test "early" for k in [1024, 8192] {
    let (a, b, s) = (randn(f16, [128, k], seed: 1), randn(f16, [128, k], seed: 2), ones(f32, [k / 64]));
    let c = empty(f32, [128, 128]);
    early(a, s, b, c);
    assert_close(c, a @ b.T, rtol: 1e-3, atol: 1e-1);
}

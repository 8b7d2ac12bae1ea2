kernel product<BM = 128, BN = 128, BK = 8, STAGES = 4>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(f16, [BM, BK, STAGES]);
    let sb = shared_tensor(f16, [BN, BK, STAGES]);
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            for p in 0..cdiv(k, BK) {
                let s = pipe.acquire();
                copy_async(tile(a, [BM, BK])[.., .., bm, p], sa[.., .., s], signal: pipe);
                copy_async(tile(b, [BN, BK])[.., .., bn, p], sb[.., .., s], signal: pipe);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ in 0..cdiv(k, BK) {
                let s = pipe.wait();
                gemm_async(acc, sa[.., .., s], sb[.., .., s]);
                gemm_wait(0);
                pipe.release();
            }
            copy(cast(acc, f16), tile(c, [BM, BN])[.., .., bm, bn]);
        }
    }
}

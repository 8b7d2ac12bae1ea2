//! The warp-specialized form of matmul, for Hopper.

kernel matmul_ws<BM = 128, BN = 256, BK = 64, STAGES = 4>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    cluster [2, 1]
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, [BN, BK])[.., .., bn, ..];
    let pipe = pipeline(STAGES);                       // full/empty mbarriers, index and phase kept by the compiler
    let sa = shared_tensor(f16, [BM, BK, STAGES]);
    let sb = shared_tensor(f16, [BN, BK, STAGES]);
    warp_groups {
        producer registers 40 {
            for ki in 0..cdiv(k, BK) {
                let s = pipe.acquire();                // waits until consumers released the stage
                copy_async(ga[.., .., ki], sa[.., .., s], signal: pipe);   // one thread, TMA
                copy_async(gb[.., .., ki], sb[.., .., s], signal: pipe);
            }
        }
        consumer 2 registers 232 {                     // one collective of two warp groups (256 threads)
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for ki in 0..cdiv(k, BK) {
                let s = pipe.wait();
                gemm_async(acc, sa[.., .., s], sb[.., .., s]);   // wgmma from shared memory
                gemm_wait(1);                           // the one issued before this is done:
                pipe.release_previous();                // its stage may be refilled
            }
            gemm_wait(0);
        }
    }
}

//! Matrix product with a pipeline of asynchronous copies (the Ampere way).

/// c[m, n] = a[m, k] · b[n, k]ᵀ: `STAGES` tiles of K are on their way to shared memory while one is multiplied.
/// A launch that gives none of the parameters of its tiles runs the member of the family that is fastest for its shape by the cost model.
#[family(
    matmul_pipelined<BM = 128, BN = 128, BK = 32, STAGES = 4, THREADS = 128>,
    matmul_pipelined<BM = 128, BN = 64, BK = 64, STAGES = 3, THREADS = 128>,
    matmul_pipelined<BM = 64, BN = 64, BK = 64, STAGES = 5, THREADS = 128>,
    matmul_pipelined<BM = 64, BN = 32, BK = 64, STAGES = 6, THREADS = 128>,
)]
kernel matmul_pipelined<BM = 128, BN = 128, BK = 32, STAGES = 4, THREADS = 128, T: type = f16>(
    a: T[m, k],
    b: T[n, k],
    c: mut T[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads THREADS
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, [BN, BK])[.., .., bn, ..];
    let sa = shared_tensor(T, [BM, BK, STAGES]);
    let sb = shared_tensor(T, [BN, BK, STAGES]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for s in 0..STAGES - 1 {
        copy_async(ga[.., .., s], sa[.., .., s]);
        copy_async(gb[.., .., s], sb[.., .., s]);
        commit();
    }
    // Copies that stand behind the products are issued while these run. But no matrix load is moved past a copy into the same memory:
    // where a tile takes many, or a block has its multiprocessor to itself, copies that stand ahead are faster (measured on an H200).
    let ahead = BK > 32 || BM * BN > 128 * 128;
    for ki in 0..cdiv(k, BK) {
        wait(STAGES - 2);
        sync();
        if !ahead {
            gemm(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES]);
        }
        // The tile before has been read, so its memory is free.
        let next = ki + STAGES - 1;
        copy_async(ga[.., .., next], sa[.., .., next % STAGES]);
        copy_async(gb[.., .., next], sb[.., .., next % STAGES]);
        commit();
        if ahead {
            gemm(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES]);
        }
    }
    wait(0);
    let sc = shared_tensor(T, [BM, BN]);
    copy(cast(acc, T), sc);
    sync();
    copy(sc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "matmul_pipelined" for (m, n, k) in [(128, 128, 128), (256, 128, 320), (200, 136, 72)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f16, [m, n]);
    matmul_pipelined(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    let d = empty(f16, [m, n]);
    matmul_pipelined<BM = 64, BN = 96, BK = 48, STAGES = 3>(a, b, d);
    assert_close(d, a @ b.T, ulp: 4);
}

test "matmul_pipelined of other types" for (m, n, k) in [(128, 128, 128), (72, 88, 100), (33, 50, 40)] {
    let a = randn(bf16, [m, k], seed: 1);
    let b = randn(bf16, [n, k], seed: 2);
    let c = empty(bf16, [m, n]);
    matmul_pipelined(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    let d = randn(f32, [m, k], seed: 3);
    let e = randn(f32, [n, k], seed: 4);
    let f = empty(f32, [m, n]);
    matmul_pipelined<BM = 64, BN = 64, BK = 16, STAGES = 3>(d, e, f);
    assert_close(f, d @ e.T, rtol: 1e-5, atol: 1e-4);
}

test "matmul_pipelined moves 16 bytes at a time, free of bank conflicts" {
    let a = randn(f16, [128, 128], seed: 1);
    let b = randn(f16, [128, 128], seed: 2);
    let c = empty(f16, [128, 128]);
    matmul_pipelined<BM = 128>(a, b, c);
    let wide = supports("wgmma");
    assert(uses("cp.async.cg.16") && uses("wgmma") == wide && uses("stmatrix.x4") == supports("stmatrix.x4"));
    assert(uses("ldmatrix.x4") != wide && uses("mma.m16n8k16") != wide);
    assert(bytes_per_access("a") == 16 && bytes_per_access("b") == 16 && bytes_per_access("c") == 16);
    assert(conflicts() == 0);
    assert(spills() == 0);
}

bench "matmul_pipelined 4096" {
    let a = randn(f16, [4096, 4096]);
    let b = randn(f16, [4096, 4096]);
    let c = empty(f16, [4096, 4096]);
    measure flops 2 * 4096 * 4096 * 4096 { matmul_pipelined(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

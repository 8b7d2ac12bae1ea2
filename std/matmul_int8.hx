//! Matrix product of 8-bit integers, added in 32 bits.

/// c[m, n] = a[m, k] · b[n, k]ᵀ, exact as long as no sum leaves 32 bits, wrapped beyond. `STAGES` tiles of K are on their way to shared
/// memory while one is multiplied.
/// A launch that gives none of the parameters of its tiles runs the member of the family that is fastest for its shape by the cost model.
#[family(
    matmul_int8<BM = 128, BN = 128, BK = 64, STAGES = 4, THREADS = 128>,
    matmul_int8<BM = 128, BN = 128, BK = 128, STAGES = 3, THREADS = 128>,
    matmul_int8<BM = 128, BN = 64, BK = 128, STAGES = 4, THREADS = 128>,
    matmul_int8<BM = 64, BN = 64, BK = 128, STAGES = 5, THREADS = 128>,
    matmul_int8<BM = 64, BN = 32, BK = 128, STAGES = 6, THREADS = 128>,
)]
kernel matmul_int8<BM = 128, BN = 128, BK = 64, STAGES = 4, THREADS = 128, A: type = i8, B: type = i8>(
    a: A[m, k],
    b: B[n, k],
    c: mut i32[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads THREADS
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, [BN, BK])[.., .., bn, ..];
    let sa = shared_tensor(A, [BM, BK, STAGES]);
    let sb = shared_tensor(B, [BN, BK, STAGES]);
    let acc = register_tensor(i32, [BM, BN]);
    fill(acc, 0);
    for s in 0..STAGES - 1 {
        copy_async(ga[.., .., s], sa[.., .., s]);
        copy_async(gb[.., .., s], sb[.., .., s]);
        commit();
    }
    // The copies stand behind the products, or ahead of them, for the reasons of `matmul_pipelined`.
    let ahead = BK > 64 || BM * BN > 128 * 128;
    for ki in 0..cdiv(k, BK) {
        wait(STAGES - 2);
        sync();
        if !ahead {
            gemm(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES]);
        }
        let next = ki + STAGES - 1;
        copy_async(ga[.., .., next], sa[.., .., next % STAGES]);
        copy_async(gb[.., .., next], sb[.., .., next % STAGES]);
        commit();
        if ahead {
            gemm(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES]);
        }
    }
    wait(0);
    copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "matmul_int8" for (m, n, k) in [(128, 128, 128), (256, 128, 320), (200, 136, 80), (33, 70, 52)] {
    let a = uniform(i8, [m, k], low: -128, high: 128, seed: 1);
    let b = uniform(i8, [n, k], low: -128, high: 128, seed: 2);
    let c = empty(i32, [m, n]);
    matmul_int8(a, b, c);
    assert_eq(c, a @ b.T);
    matmul_int8<BM = 64, BN = 96, BK = 96, STAGES = 3>(a, b, c);
    assert_eq(c, a @ b.T);
}

test "matmul_int8 of unsigned and mixed integers" for (m, n, k) in [(128, 128, 64), (100, 72, 48)] {
    let a = uniform(u8, [m, k], low: 0, high: 256, seed: 1);
    let b = uniform(i8, [n, k], low: -128, high: 128, seed: 2);
    let c = empty(i32, [m, n]);
    matmul_int8(a, b, c);
    assert_eq(c, a @ b.T);
    let d = cast(abs(b), u8);
    matmul_int8(a, d, c);
    assert_eq(c, a @ d.T);
}

test "matmul_int8 moves 16 bytes at a time, free of bank conflicts" {
    let a = uniform(i8, [128, 128], low: -128, high: 128, seed: 1);
    let c = empty(i32, [128, 128]);
    matmul_int8<BM = 128>(a, a, c);
    let wide = supports("wgmma");
    assert(uses("cp.async.cg.16") && uses("wgmma") == wide);
    assert(uses("ldmatrix.x4") != wide && uses("mma.m16n8k32") != wide);
    assert(bytes_per_access("a") == 16 && bytes_per_access("b") == 16);
    assert(conflicts() == 0);
    assert(spills() == 0);
}

bench "matmul_int8 4096" {
    let a = uniform(i8, [4096, 4096], low: -128, high: 128);
    let b = uniform(i8, [4096, 4096], low: -128, high: 128);
    let c = empty(i32, [4096, 4096]);
    let x = randn(f16, [4096, 4096]);
    let y = randn(f16, [4096, 4096]);
    let z = empty(f16, [4096, 4096]);
    measure flops 2 * 4096 * 4096 * 4096 { matmul_int8(a, b, c) }
    baseline cublas::gemm(x, y.T, z)
}

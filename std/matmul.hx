/// c[m, n] = a[m, k] · b[n, k]ᵀ, one output tile per block (Fig. 15 of the CGO paper).
kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    where k % BK == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let ga = global_view(a[bm * BM.., ..], (BM, BK, k / BK) : (k, 1, BK));
    let gb = global_view(b[bn * BN.., ..], (BN, BK, k / BK) : (k, 1, BK));
    let ra = register_tensor(f16, [BM, BK]);
    let rb = register_tensor(f16, [BN, BK]);
    let rc = register_tensor(f32, [BM, BN]);
    fill(rc, 0.0);
    #[accept("waiting-loop", "kept simple; matmul_pipelined reads ahead")]
    for ki in 0..k / BK {
        copy(ga[.., .., ki], ra);
        copy(gb[.., .., ki], rb);
        gemm(rc, ra, rb);
    }
    let sc = shared_tensor(f16, [BM, BN]);
    copy(cast(rc, f16), sc);
    sync();
    let rc1 = register_tensor(f16, [BM, BN]);
    copy(sc, rc1);
    copy(rc1, global_view(c[bm * BM.., bn * BN..], (BM, BN) : (n, 1)));
}

test "matmul agrees with the reference" for (m, n, k) in [(64, 64, 16), (128, 192, 64), (100, 72, 48)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f16, [m, n]);
    matmul(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
}

bench "matmul 4096" {
    let a = randn(f16, [4096, 4096]);
    let b = randn(f16, [4096, 4096]);
    let c = empty(f16, [4096, 4096]);
    measure flops 2 * 4096 * 4096 * 4096 { matmul<BM = 128, BN = 128, BK = 32>(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

//! Products that `gemm_wait` completes, beside copies in groups.

/// c[m, n] = a[m, k] · b[n, k]ᵀ. A product is in flight while the copies of a later stage are issued.
kernel product<BM = 64, BN = 64, BK = 32, STAGES = 4, T: type = f16>(a: T[m, k], b: T[n, k], c: mut T[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, [BN, BK])[.., .., bn, ..];
    let sa = shared_tensor(T, [BM, BK, STAGES]);
    let sb = shared_tensor(T, [BN, BK, STAGES]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for s in 0..STAGES - 2 {
        copy_async(ga[.., .., s], sa[.., .., s]);
        copy_async(gb[.., .., s], sb[.., .., s]);
        commit();
    }
    for ki in 0..cdiv(k, BK) {
        wait(STAGES - 3);
        sync();
        gemm_async(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES]);
        // Behind the barrier the products before this one are complete in all threads, so their stages are free.
        gemm_wait(1);
        sync();
        let next = ki + STAGES - 2;
        copy_async(ga[.., .., next], sa[.., .., next % STAGES]);
        copy_async(gb[.., .., next], sb[.., .., next % STAGES]);
        commit();
    }
    gemm_wait(0);
    wait(0);
    copy(cast(acc, T), tile(c, [BM, BN])[.., .., bm, bn]);
}

test "asynchronous products" for (m, n, k) in [(64, 64, 128), (100, 72, 40), (130, 200, 520), (33, 50, 8)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f16, [m, n]);
    product(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    let d = cast(a, bf16);
    let e = cast(b, bf16);
    let f = empty(bf16, [m, n]);
    product(d, e, f);
    assert_close(f, d @ e.T, ulp: 4);
}

/// y = x, in tiles of 160 vectors of 16 bytes for 128 threads.
kernel partly_filled<BM = 40, BN = 32>(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let s = shared_tensor(f16, [BM, BN]);
    copy_async(tile(x, [BM, BN])[.., .., bm, bn], s);
    commit();
    wait(0);
    sync();
    copy(s, tile(y, [BM, BN])[.., .., bm, bn]);
}

test "a last round that is partly filled" for (m, n) in [(40, 32), (83, 72)] {
    let (x, y) = (randn(f16, [m, n], seed: 1), empty(f16, [m, n]));
    partly_filled(x, y);
    assert_eq(y, x);
}

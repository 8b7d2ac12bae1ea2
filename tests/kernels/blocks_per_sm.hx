//! Kernels that say how many blocks a multiprocessor holds together.

/// y = x by way of shared memory, of which each of four blocks has a part.
kernel four<N = 4, BM = 16>(x: f16[m, 1024], y: mut f16[m, 1024])
    grid [cdiv(m, BM)]
    threads 256
    blocks_per_sm N
{
    let s = shared_tensor(f16, [BM, 1024]);
    copy_async(tile(x, [BM, 1024])[.., .., block_idx, 0], s);
    commit();
    wait(0);
    sync();
    copy(s, tile(y, [BM, 1024])[.., .., block_idx, 0]);
}

test "a copy" for m in [16, 100] {
    let (x, y) = (randn(f16, [m, 1024], seed: 1), empty(f16, [m, 1024]));
    four<BM = 8>(x, y);
    assert_eq(x, y);
    let z = empty(f16, [m, 1024]);
    four<N = 1>(x, z);
    assert_eq(x, z);
}

/// c = a · bᵀ with half of the registers.
kernel product<BM = 64, BN = 64, BK = 32>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
    blocks_per_sm 2
{
    let [i, j] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for t in 0..cdiv(k, BK) {
        let (p, q) = (load(tile(a, [BM, BK])[.., .., i, t]), load(tile(b, [BN, BK])[.., .., j, t]));
        gemm(acc, p, q);
    }
    copy(acc, tile(c, [BM, BN])[.., .., i, j]);
}

test "a product" {
    let (a, b) = (randn(f16, [100, 72], seed: 1), randn(f16, [60, 72], seed: 2));
    let c = empty(f32, [100, 60]);
    product(a, b, c);
    assert_close(c, a @ b.T, atol: 0.01);
}

// A batch of products: for each index of a third mode.

kernel batched<M = 32, N = 16, K = 32, L = 4, T: type = f16, D: type = f32>(
    a: T[m, k, l],
    b: T[n, k, l],
    c: mut D[m, n, l],
)
    grid [cdiv(m, M), cdiv(n, N)]
    threads 128
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [M, K, L])[.., .., .., bm, .., ..];
    let gb = tile(b, [N, K, L])[.., .., .., bn, .., ..];
    let acc = register_tensor(D, [M, N, L]);
    fill(acc, 0);
    for p in 0..cdiv(l, L) {
        for i in 0..cdiv(k, K) {
            gemm(acc, load(ga[.., .., .., i, p]), load(gb[.., .., .., i, p]));
        }
        copy(acc, tile(c, [M, N, L])[.., .., .., bm, bn, p]);
    }
}

// The same from shared memory, K dealt to four warps.
kernel sliced<BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    grid [cdiv(m, 32), cdiv(n, 16)]
    threads 128
{
    let [bm, bn] = block_idx;
    let ga = tile(tile(a, [32, BK])[.., .., bm, ..], [32, BK, 4])[.., .., .., 0, 0, ..];
    let gb = tile(tile(b, [16, BK])[.., .., bn, ..], [16, BK, 4])[.., .., .., 0, 0, ..];
    let sa = shared_tensor(f16, [32, BK, 4]);
    let sb = shared_tensor(f16, [16, BK, 4]);
    let acc = register_tensor(f32, [32, 16, 4]);
    fill(acc, 0.0);
    for i in 0..cdiv(cdiv(k, BK), 4) {
        copy(ga[.., .., .., i], sa);
        copy(gb[.., .., .., i], sb);
        sync();
        gemm(acc, sa, sb, warps: [1, 1, 4]);
        sync();
    }
    copy(sum(acc, axis: 2)[.., .., 0], tile(c, [32, 16])[.., .., bm, bn]);
}

test "batched" for (m, n, k) in [(32, 16, 32), (40, 24, 72), (17, 9, 40)] {
    for T in [f16, bf16] {
        for l in [1, 3, 4] {
            let a = randn(T, [m, k, l], seed: 1);
            let b = randn(T, [n, k, l], seed: 2);
            let c = empty(f32, [m, n, l]);
            batched(a, b, c);
            for i in 0..l {
                assert_close(c[.., .., i], a[.., .., i] @ b[.., .., i].T, rtol: 1e-5, atol: 1e-4);
            }
            let d = empty(f32, [m, n, l]);
            batched<L = 5, M = 16>(a, b, d);
            assert_close(d, c, rtol: 1e-5, atol: 1e-4);
        }
    }
}

test "batched integers" for (m, n, k, l) in [(32, 16, 64, 4), (20, 12, 32, 3)] {
    let a = uniform(i8, [m, k, l], low: -128, high: 128, seed: 1);
    let b = uniform(i8, [n, k, l], low: -128, high: 128, seed: 2);
    let c = empty(i32, [m, n, l]);
    batched<T = i8, D = i32>(a, b, c);
    for i in 0..l {
        assert_eq(c[.., .., i], a[.., .., i] @ b[.., .., i].T);
    }
}

test "sliced" for (m, n, k) in [(32, 16, 64), (40, 24, 200), (7, 50, 136)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f32, [m, n]);
    sliced(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-4, atol: 1e-4);
}

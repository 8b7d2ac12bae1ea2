//! Programs that stop the first implementation of the paper: steps of K that do not divide it, tiles and threads that are no powers of
//! two, strides known only at a launch, transposed operands.

/// c = a · bᵀ through shared memory, one tile of K at a time, with any tile and number of threads.
kernel product<BM = 64, BN = 48, BK = 32, THREADS = 128, T: type = f16>(
    a: T[m, k],
    b: T[n, k],
    c: mut f32[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads THREADS
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, [BN, BK])[.., .., bn, ..];
    let sa = shared_tensor(T, [BM, BK]);
    let sb = shared_tensor(T, [BN, BK]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for ki in 0..cdiv(k, BK) {
        copy(ga[.., .., ki], sa);
        copy(gb[.., .., ki], sb);
        sync();
        gemm(acc, sa, sb);
        sync();
    }
    copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "tiles, steps and threads of any size" for (bm, bn, bk, threads) in [
    (64, 48, 32, 128),
    (64, 64, 48, 128),
    (48, 80, 16, 96),
    (80, 48, 32, 160),
    (96, 192, 48, 128),
    (160, 224, 16, 160),
] {
    let a = randn(f16, [170, 100], seed: 1);
    let b = randn(f16, [230, 100], seed: 2);
    let c = empty(f32, [170, 230]);
    product<BM = bm, BN = bn, BK = bk, THREADS = threads>(a, b, c);
    let by_group = target() == "sm_90a" && bm == 64 && threads == 128;
    assert(uses("wgmma") == by_group && uses("mma.m16n8k16") != by_group);
    // A warp group reads rows of 48 of `b` in three chunks of 16. Threads that store a row write to all three, whose elements are in
    // the same banks: 192 wavefronts instead of 64. Its fragments of `a` are loaded from rows in one piece.
    let chunks = by_group && bk == 48;
    assert_eq(conflicts(), if chunks { 128 } else { 0 });
    assert(uses("ldmatrix") == (!by_group || chunks));
    assert_close(c, cast(a, f32) @ cast(b, f32).T, rtol: 1e-3, atol: 1e-3);
}

test "a leading stride and a depth that only the launch knows" for (m, n, k) in [
    (33, 41, 7),
    (64, 65, 33),
    (17, 3, 129),
] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f32, [m, n]);
    product(a, b, c);
    assert_close(c, cast(a, f32) @ cast(b, f32).T, rtol: 1e-3, atol: 1e-3);
}

/// Three tiles of eight columns for each of two warps along N.
kernel threes(a: f16[64, 32], b: f16[48, 32], c: mut f32[64, 48])
    grid [1]
    threads 128
{
    let sa = shared_tensor(f16, [64, 32]);
    let sb = shared_tensor(f16, [48, 32]);
    copy(a, sa);
    copy(b, sb);
    sync();
    let acc = register_tensor(f32, [64, 48]);
    fill(acc, 0.0);
    gemm(acc, sa, sb, warps: [2, 2]);
    copy(acc, c);
}

test "three tiles along N for each warp" {
    let a = randn(f16, [64, 32], seed: 1);
    let b = randn(f16, [48, 32], seed: 2);
    let c = empty(f32, [64, 48]);
    threes(a, b, c);
    assert(conflicts() == 0);
    assert(bytes_per_access("sb") == 16 && uses("ldmatrix.x4"));
    assert_close(c, cast(a, f32) @ cast(b, f32).T, rtol: 1e-3, atol: 1e-3);
}

/// c = a · b with b stored along N: the operand is a transposed view of shared memory, whose layout nobody wrote.
kernel transposed<BM = 64, BN = 64, BK = 32, STAGES = 2>(a: f16[m, k], b: f16[k, n], c: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, [BK, BN])[.., .., .., bn];
    let sa = shared_tensor(f16, [BM, BK, STAGES]);
    let sb = shared_tensor(f16, [BK, BN, STAGES]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    copy_async(ga[.., .., 0], sa[.., .., 0]);
    copy_async(gb[.., .., 0], sb[.., .., 0]);
    commit();
    for ki in 0..cdiv(k, BK) {
        wait(0);
        sync();
        copy_async(ga[.., .., ki + 1], sa[.., .., (ki + 1) % STAGES]);
        copy_async(gb[.., .., ki + 1], sb[.., .., (ki + 1) % STAGES]);
        commit();
        gemm(acc, sa[.., .., ki % STAGES], sb[.., .., ki % STAGES].T);
    }
    wait(0);
    copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "a transposed operand in shared memory" for bk in [16, 32, 48] {
    let a = randn(f16, [96, 80], seed: 1);
    let b = randn(f16, [80, 72], seed: 2);
    let c = empty(f32, [96, 72]);
    transposed<BK = bk>(a, b, c);
    assert(conflicts() == 0);
    let wide = supports("wgmma");
    assert(uses("wgmma") == wide && uses("ldmatrix.x4.trans") != wide);
    assert_close(c, cast(a, f32) @ cast(b, f32), rtol: 1e-3, atol: 1e-3);
}

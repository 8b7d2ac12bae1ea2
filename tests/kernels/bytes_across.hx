//! Products of bytes whose tiles in shared memory are contiguous along M or N: matrices of pairs of bytes are transposed on their way to
//! registers.

/// c[m, n] = a[m, k] · b[k, n].
kernel columns<BM = 64, BN = 64, BK = 64, A: type = i8, B: type = i8>(
    a: A[m, k],
    b: B[k, n],
    c: mut i32[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(A, [BM, BK]);
    let sb = shared_tensor(B, [BK, BN]);
    let rc = register_tensor(i32, [BM, BN]);
    fill(rc, 0);
    for ki in 0..cdiv(k, BK) {
        copy(tile(a, [BM, BK])[.., .., bm, ki], sa);
        copy(tile(b, [BK, BN])[.., .., ki, bn], sb);
        sync();
        gemm(rc, sa, sb.T);
        sync();
    }
    copy(rc, tile(c, [BM, BN])[.., .., bm, bn]);
}

/// c[m, n] = a[k, m]ᵀ · b[k, n], with copies that do not wait.
kernel rows_and_columns<BM = 64, BN = 64, BK = 64>(a: i8[k, m], b: i8[k, n], c: mut i32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
    where m % 16 == 0, n % 16 == 0
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(i8, [BK, BM]);
    let sb = shared_tensor(i8, [BK, BN]);
    let rc = register_tensor(i32, [BM, BN]);
    fill(rc, 0);
    for ki in 0..cdiv(k, BK) {
        copy_async(tile(a, [BK, BM])[.., .., ki, bm], sa);
        copy_async(tile(b, [BK, BN])[.., .., ki, bn], sb);
        commit();
        wait(0);
        sync();
        gemm(rc, sa.T, sb.T);
        sync();
    }
    copy(rc, tile(c, [BM, BN])[.., .., bm, bn]);
}

/// c[m, n] = a[k, m]ᵀ · b[n, k].
kernel rows<BM = 64, BN = 64, BK = 64>(a: i8[k, m], b: i8[n, k], c: mut i32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(i8, [BK, BM]);
    let sb = shared_tensor(i8, [BN, BK]);
    let rc = register_tensor(i32, [BM, BN]);
    fill(rc, 0);
    for ki in 0..cdiv(k, BK) {
        copy(tile(a, [BK, BM])[.., .., ki, bm], sa);
        copy(tile(b, [BN, BK])[.., .., bn, ki], sb);
        sync();
        gemm(rc, sa.T, sb);
        sync();
    }
    copy(rc, tile(c, [BM, BN])[.., .., bm, bn]);
}

/// y[n, k] = x[k, n]ᵀ, by way of two tiles in shared memory.
kernel turned<BK = 64, BN = 64, T: type = i8>(x: T[k, n], y: mut T[n, k])
    grid [cdiv(k, BK), cdiv(n, BN)]
    threads 128
{
    let [bk, bn] = block_idx;
    let sx = shared_tensor(T, [BK, BN]);
    let sy = shared_tensor(T, [BN, BK]);
    copy(tile(x, [BK, BN])[.., .., bk, bn], sx);
    sync();
    copy(load(sx.T), sy);
    sync();
    copy(sy, tile(y, [BN, BK])[.., .., bn, bk]);
}

test "results" for (m, n, k) in [(64, 64, 64), (100, 96, 80), (33, 17, 50), (130, 80, 48)] {
    let a = uniform(i8, [m, k], low: -128, high: 128, seed: 1);
    let b = uniform(i8, [k, n], low: -128, high: 128, seed: 2);
    let p = uniform(u8, [m, k], low: 0, high: 256, seed: 3);
    let q = uniform(u8, [k, n], low: 0, high: 256, seed: 4);
    let c = empty(i32, [m, n]);
    columns(a, b, c);
    assert_eq(c, a @ b);
    columns(a, q, c);
    assert_eq(c, a @ q);
    columns(p, b, c);
    assert_eq(c, p @ b);
    // The instructions of 16 steps along K, and too few columns for pairs.
    columns<BK = 16>(a, b, c);
    assert_eq(c, a @ b);
    columns<BN = 8>(a, b, c);
    assert_eq(c, a @ b);
    columns<BM = 8, BN = 64>(a, b, c);
    assert_eq(c, a @ b);
    columns<BM = 48, BN = 48, BK = 96>(a, b, c);
    assert_eq(c, a @ b);
    let t = uniform(i8, [k, m], low: -128, high: 128, seed: 5);
    let v = uniform(i8, [n, k], low: -128, high: 128, seed: 6);
    rows(t, v, c);
    assert_eq(c, t.T @ v.T);
    let y = empty(i8, [n, k]);
    turned(b, y);
    assert_eq(y, b.T);
}

test "results of copies that do not wait" for (m, n, k) in [(64, 64, 64), (144, 80, 50)] {
    let a = uniform(i8, [k, m], low: -128, high: 128, seed: 1);
    let b = uniform(i8, [k, n], low: -128, high: 128, seed: 2);
    let c = empty(i32, [m, n]);
    rows_and_columns(a, b, c);
    assert_eq(c, a.T @ b);
}

test "code" {
    let (m, n, k) = (128, 128, 128);
    let a = uniform(i8, [m, k], low: -128, high: 128, seed: 1);
    let b = uniform(i8, [k, n], low: -128, high: 128, seed: 2);
    let c = empty(i32, [m, n]);
    columns(a, b, c);
    assert(uses("ldmatrix.x4.trans.b8"), "columns of B");
    assert_eq(bytes_per_access("sb"), 16);
    assert_eq(conflicts(), 0);
    let t = uniform(i8, [k, m], low: -128, high: 128, seed: 3);
    rows_and_columns(t, b, c);
    assert(uses("ldmatrix.x4.trans.b8"), "rows of A and columns of B");
    assert_eq([bytes_per_access("sa"), bytes_per_access("sb")], [16, 16]);
    rows(t, uniform(i8, [n, k], low: -128, high: 128, seed: 4), c);
    assert(uses("ldmatrix.x4.trans.b8"), "rows of A");
    assert_eq([bytes_per_access("sa"), bytes_per_access("sb")], [16, 16]);
    let y = empty(i8, [n, k]);
    turned(b, y);
    assert(uses("ldmatrix.x4.trans.b8") || uses("stmatrix.x4.trans.b8"), "neighbours of both tiles");
}

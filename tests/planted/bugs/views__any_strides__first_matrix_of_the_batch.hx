// planted: HX0612 in test
// The tiles of `b` are those of the first matrix. Shows for a batch of two or more.
/// c = a · b + c for matrices of any strides: rows or columns may be contiguous in each of them; and a batch of matrices whose distance has a name, too.
kernel any_strides<BM = 32, BN = 32, BK = 32>(
    a: f16[batch, m, k] : [a0, a1, a2],
    b: f16[batch, k, n] : [b0, b1, b2],
    c: mut f32[batch, m, n] : [c0, c1, c2],
)
    grid [cdiv(m, BM), cdiv(n, BN), batch]
    threads 64
{
    let [bm, bn, i] = block_idx;
    let sa = shared_tensor(f16, [BM, BK]);
    let sb = shared_tensor(f16, [BK, BN]);
    let acc = register_tensor(f32, [BM, BN]);
    let out = tile(c[i], [BM, BN])[.., .., bm, bn];
    copy(out, acc);
    for j in 0..cdiv(k, BK) {
        copy_async(tile(a[i], [BM, BK])[.., .., bm, j], sa);
        copy_async(tile(b[0], [BK, BN])[.., .., j, bn], sb);
        commit();
        wait(0);
        sync();
        gemm(acc, sa, sb.T);
        sync();
    }
    copy(acc, out);
}

test "rows and columns" for (m, n, k) in [(32, 32, 64), (50, 72, 40), (8, 100, 24)] {
    let (a, b) = (randn(f16, [2, m, k], seed: 1), randn(f16, [2, k, n], seed: 2));
    let c = randn(f32, [2, m, n], seed: 3);
    let old = c.copy();
    any_strides(a, b, c);
    assert_close(c[0], old[0] + a[0] @ b[0], rtol: 1e-3, atol: 1e-3);
    assert_close(c[1], old[1] + a[1] @ b[1], rtol: 1e-3, atol: 1e-3);
    let (at, bt) = (randn(f16, [2, k, m], seed: 4), randn(f16, [2, n, k], seed: 5));
    let d = zeros(f32, [2, n, m]);
    let turned = permute(d, [0, 2, 1]);
    any_strides(permute(at, [0, 2, 1]), permute(bt, [0, 2, 1]), turned);
    assert_close(d[1], (at[1].T @ bt[1].T).T, rtol: 1e-3, atol: 1e-3);
    assert_close(d[0], (at[0].T @ bt[0].T).T, rtol: 1e-3, atol: 1e-3);
}

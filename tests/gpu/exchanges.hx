//! What an exchange through shared memory costs in a loop: the products of attention with warps along M only, which exchange nothing,
//! beside warps along both modes, which exchange the rows' maxima, their sums, and the operand of the second product.

kernel attention<D = 128, BM = 64, BN = 64, WM = 4, WN = 1>(
    q: f16[h, s, D],
    k: f16[h, t, D],
    v: f16[h, t, D],
    o: mut f16[h, s, D],
)
    where t % BN == 0
    grid [cdiv(s, BM), h]
    threads 32 * WM * WN
{
    let [bm, head] = block_idx;
    let gq = tile(q[head], [BM, D])[.., .., bm, 0];
    let gk = tile(k[head], [BN, D])[.., .., .., 0];
    let gv = tile(v[head], [BN, D])[.., .., .., 0];
    let sq = shared_tensor(f16, [BM, D]);
    let sk = shared_tensor(f16, [BN, D]);
    let sv = shared_tensor(f16, [BN, D]);
    let acc = register_tensor(f32, [BM, D]);
    let row_max = register_tensor(f32, [BM, 1]);
    let row_sum = register_tensor(f32, [BM, 1]);
    fill(acc, 0.0);
    fill(row_max, -1.0e30);
    fill(row_sum, 0.0);
    copy_async(gq, sq);
    copy_async(gk[.., .., 0], sk);
    commit();
    for j in 0..t / BN {
        wait(0);
        sync();
        copy_async(gv[.., .., j], sv);
        commit();
        let scores = register_tensor(f32, [BM, BN]);
        fill(scores, 0.0);
        gemm(scores, sq, sk, warps: [WM, WN]);
        let new_max = max(row_max, max(scores, axis: 1));
        let p = exp2(scores - new_max);
        let fade = exp2(row_max - new_max);
        row_sum = row_sum * fade + sum(p, axis: 1);
        row_max = new_max;
        acc = acc * fade;
        wait(0);
        sync();
        if j + 1 < t / BN {
            copy_async(gk[.., .., j + 1], sk);
            commit();
        }
        gemm(acc, cast(p, f16), sv.T, warps: [WM, WN]);
    }
    wait(0);
    copy(cast(acc / row_sum, f16), tile(o[head], [BM, D])[.., .., bm, 0]);
}

bench "exchanges" for (d, bm, bn, warps) in [
    (64, 128, 64, 8),
    (128, 64, 64, 4),
    (128, 128, 64, 8),
    (192, 64, 64, 4),
    (256, 64, 32, 4),
    (256, 64, 64, 4),
    (256, 128, 32, 8),
    (256, 128, 64, 8),
] {
    let q = randn(f16, [16, 4096, d], seed: 1);
    let k = randn(f16, [16, 4096, d], seed: 2);
    let v = randn(f16, [16, 4096, d], seed: 3);
    let o = empty(f16, [16, 4096, d]);
    measure flops 4 * 16 * 4096 * 4096 * d {
        attention<D = d, BM = bm, BN = bn, WM = warps, WN = 1>(q, k, v, o)
    }
    measure flops 4 * 16 * 4096 * 4096 * d {
        attention<D = d, BM = bm, BN = bn, WM = warps / 2, WN = 2>(q, k, v, o)
    }
}

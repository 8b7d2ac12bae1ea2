// planted: HX0409 in check
// The guard of the copies ahead is `<=`: one tile more is copied than is awaited. Shows on every launch with two steps or more:
// the block may end while the box is in flight into its shared memory, which corrupts the block that gets the memory next.
/// c = tril(a) · b for a square `a`: a block of rows multiplies only the steps of K up to its diagonal, so its trip count depends on
/// `block_idx`. All threads fill the ring, two steps ahead; the tiles on the diagonal are masked in registers.
kernel triangular<BM = 64, BN = 64, BK = 32, STAGES = 4>(a: f16[k, k], b: f16[k, n], c: mut f32[k, n])
    grid [cdiv(k, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let steps = min(cdiv(k, BK), (bm + 1) * (BM / BK));
    let sa = shared_tensor(f16, [BM, BK, STAGES]);
    let sb = shared_tensor(f16, [BK, BN, STAGES]);
    let pipe = pipeline(STAGES);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for i in 0..min(steps, STAGES - 2) {
        let s = pipe.acquire();
        copy_async(tile(a, [BM, BK])[.., .., bm, i], sa[.., .., s], signal: pipe);
        copy_async(tile(b, [BK, BN])[.., .., i, bn], sb[.., .., s], signal: pipe);
    }
    for i in 0..steps {
        if i + STAGES - 2 <= steps {
            let s = pipe.acquire();
            copy_async(tile(a, [BM, BK])[.., .., bm, i + STAGES - 2], sa[.., .., s], signal: pipe);
            copy_async(tile(b, [BK, BN])[.., .., i + STAGES - 2, bn], sb[.., .., s], signal: pipe);
        }
        let s = pipe.wait();
        let part = load(sa[.., .., s]);
        let lower = index(part, 1) + i * BK <= index(part, 0) + bm * BM;
        gemm(acc, where(lower, part, cast(0.0, f16)), sb[.., .., s].T);
        pipe.release();
    }
    copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
}

test "a lower triangle times a matrix" for (k, n) in [(64, 64), (200, 72), (136, 40), (8, 8)] {
    let a = randn(f16, [k, k], seed: 1);
    let b = randn(f16, [k, n], seed: 2);
    let c = empty(f32, [k, n]);
    triangular(a, b, c);
    let row = reshape(arange(i64, [k]), [k, 1]);
    let column = reshape(arange(i64, [k]), [1, k]);
    assert_close(c, where(column <= row, a, 0.0) @ b, rtol: 1e-3, atol: 1e-3);
}

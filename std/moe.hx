//! Mixture of experts: one launch multiplies the rows of all experts.

/// y[i, ..] = x[row_of[i], ..] · w[e, .., ..]ᵀ with the expert e = expert_of[i / BM]. Rows are sorted by expert, and those of each expert
/// padded to a multiple of `BM`; a padding row names a row that x does not have and reads as zeros.
kernel moe<BM = 16, BN = 128, BK = 64, STAGES = 3, T: type = f16>(
    x: T[tokens, k],
    w: T[experts, n, k],
    row_of: i32[rows],
    expert_of: u32[rows / BM],
    y: mut T[rows, n],
)
    where k % BK == 0, rows % BM == 0
    grid [rows / BM, cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let table = shared_tensor(i32, [BM]);
    copy(tile(row_of, [BM])[.., bm], table);
    let gx = tile(gather(x, table), [BM, BK])[.., .., 0, ..];
    let gw = tile(w, [1, BN, BK])[0, .., .., expert_of[bm], bn, ..];
    let sx = shared_tensor(T, [BM, BK, STAGES]);
    let sw = shared_tensor(T, [BN, BK, STAGES]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    sync();
    for s in 0..STAGES - 1 {
        copy_async(gx[.., .., s], sx[.., .., s]);
        copy_async(gw[.., .., s], sw[.., .., s]);
        commit();
    }
    // The copies stand behind the products, or ahead of them, for the reasons of `matmul_pipelined`.
    let ahead = BK > 32;
    for ki in 0..k / BK {
        wait(STAGES - 2);
        sync();
        if !ahead {
            gemm(acc, sx[.., .., ki % STAGES], sw[.., .., ki % STAGES]);
        }
        let next = ki + STAGES - 1;
        copy_async(gx[.., .., next], sx[.., .., next % STAGES]);
        copy_async(gw[.., .., next], sw[.., .., next % STAGES]);
        commit();
        if ahead {
            gemm(acc, sx[.., .., ki % STAGES], sw[.., .., ki % STAGES]);
        }
    }
    wait(0);
    let sy = shared_tensor(T, [BM, BN]);
    copy(cast(acc, T), sy);
    sync();
    copy(sy, tile(y, [BM, BN])[.., .., bm, bn]);
}

test "moe" for (tokens, n, k) in [(20, 128, 128), (7, 200, 64), (50, 72, 192)] {
    for T in [f16, bf16] {
        let x = randn(T, [tokens, k], seed: 1);
        let w = randn(T, [3, n, k], seed: 2);
        let row_of = cast(uniform(f32, [64], seed: 3, low: 0.0, high: tokens + 2.0), i32);
        let expert_of = cast(uniform(f32, [4], seed: 4, low: 0.0, high: 2.4), u32);
        let y = empty(T, [64, n]);
        moe(x, w, row_of, expert_of, y);
        for i in 0..64 {
            let r = row_of[i];
            if r < tokens {
                let e = expert_of[i / 16];
                assert_close(y[i..i + 1], x[r..r + 1] @ w[e].T, ulp: 8);
            } else {
                assert(max(abs(y[i])) == 0.0);
            }
        }
    }
}

test "moe moves 16 bytes at a time" {
    let x = randn(f16, [32, 128], seed: 1);
    let w = randn(f16, [2, 128, 128], seed: 2);
    let row_of = cast(arange(f32, [32]), i32);
    let expert_of = cast(arange(f32, [2]), u32);
    let y = empty(f16, [32, 128]);
    moe(x, w, row_of, expert_of, y);
    assert(uses("cp.async.cg.16") && uses("ldmatrix.x4"));
    assert(bytes_per_access("x") == 16 && bytes_per_access("w") == 16 && bytes_per_access("y") == 16);
    assert(spills() == 0);
}

bench "moe 4096 rows, 8 experts, 4096 × 4096" {
    let x = randn(f16, [4096, 4096]);
    let w = randn(f16, [8, 4096, 4096]);
    let row_of = cast(arange(f32, [4096]), i32);
    let expert_of = cast(floor(arange(f32, [32]) * 0.25), u32);
    let y = empty(f16, [4096, 4096]);
    measure flops 2 * 4096 * 4096 * 4096 { moe<BM = 128, BK = 32, STAGES = 4>(x, w, row_of, expert_of, y) }
    baseline cublas::gemm(x, w[0].T, y)
}

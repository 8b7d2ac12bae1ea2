//! Matrix products of operands at any strides.

use std::activations::{identity, relu};
use std::gemm::finish;

/// c[m, n] = EPILOGUE(a[m, k] · b[n, k]ᵀ), as `std::gemm::gemm`, for any number of columns and any strides: tiles come through registers,
/// by loads as narrow as the strides want. The next tiles arrive while the present ones are multiplied.
kernel gemm_any<
    T: type = bf16,
    U: type = T,
    ACC: type = if T == i8 || T == u8 { i32 } else { f32 },
    OUT: type = if T == f16 || T == bf16 { T } else if ACC == i32 || T == tf32 { ACC } else { bf16 },
    BM = 128,
    BN = 128,
    BK = if T == f16 || T == bf16 { 64 } else if T == tf32 { 32 } else { 128 },
    EPILOGUE: fn = identity,
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    where BM % 64 == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128 * (BM / 64)
{
    let [bm, bn] = block_idx;
    let (ga, gb) = (tile(a, [BM, BK])[.., .., bm, ..], tile(b, [BN, BK])[.., .., bn, ..]);
    let (sa, sb) = (shared_tensor(T, [BM, BK]), shared_tensor(U, [BN, BK]));
    let acc = register_tensor(ACC, [BM, BN]);
    fill(acc, 0);
    let (ra, rb) = (register_tensor(T, [BM, BK]), register_tensor(U, [BN, BK]));
    copy(ga[.., .., 0], ra);
    copy(gb[.., .., 0], rb);
    for ki in 0..cdiv(k, BK) {
        sync();
        copy(ra, sa);
        copy(rb, sb);
        sync();
        copy(ga[.., .., ki + 1], ra);
        copy(gb[.., .., ki + 1], rb);
        gemm(acc, sa, sb);
    }
    // Through shared memory each warp stores a row of results, at whatever strides `c` has.
    let sc = shared_tensor(OUT, [BM, BN]);
    finish<EPILOGUE = EPILOGUE>(acc, sc);
    sync();
    copy(load(sc), tile(c, [BM, BN])[.., .., bm, bn]);
}

test "gemm_any" for (m, n, k) in [(64, 128, 64), (130, 257, 511)] {
    let a = randn(f16, [m, k], seed: 3);
    let b = randn(f16, [n, k], seed: 4);
    let (c, d) = (empty(f16, [m, n]), empty(f16, [m, n]));
    gemm_any(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    gemm_any<BM = 64, BN = 64, EPILOGUE = relu>(a, b, d);
    assert_close(d, max(a @ b.T, 0.0), ulp: 4);
    assert(spills() == 0);
}

bench "gemm_any 4096, with 4095 columns" {
    let a = randn(bf16, [4096, 4095]);
    let b = randn(bf16, [4096, 4095]);
    let c = empty(bf16, [4096, 4096]);
    measure flops 2 * 4096 * 4096 * 4095 { gemm_any(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

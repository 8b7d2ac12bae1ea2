//! Matrix products of very few rows or columns, without tensor cores.

use std::activations::{identity, relu};
use std::gemm::finish;

/// c[m, n] = EPILOGUE(a[m, k] · b[n, k]ᵀ), as `std::gemm::gemm`, for few rows of `a` or of `b` at any strides. Each thread multiplies its
/// elements of `BM` rows of `a` with those of `BN` rows of `b`, and a block adds up the products at the end. Tiles of the tensor cores
/// would be mostly empty, and boxes need rows that begin at multiples of 16 B.
kernel gemm_skinny<
    T: type = bf16,
    U: type = T,
    ACC: type = if T == i8 || T == u8 { i32 } else { f32 },
    OUT: type = if T == f16 || T == bf16 { T } else if ACC == i32 || T == tf32 { ACC } else { bf16 },
    BM = 2,
    BN = 4,
    BK = 1024,
    EPILOGUE: fn = identity,
>(a: T[m, k] : [a0, a1], b: U[n, k] : [b0, b1], c: mut OUT[m, n] : [c0, 1])
    tune BM in [1, 2, 4, 8], BN in [1, 2, 4, 8], BK in [256, 512, 1024, 2048]
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 256
{
    let [bm, bn] = block_idx;
    let (ga, gb) = (tile(a, [BM, BK])[.., .., bm, ..], tile(b, [BN, BK])[.., .., bn, ..]);
    let products = register_tensor(ACC, [BM, BN, BK]);
    fill(products, 0);
    for i in 0..cdiv(k, BK) {
        let ra = cast(load(ga[.., .., i][.., new, ..]), ACC);
        let rb = cast(load(gb[.., .., i][new, .., ..]), ACC);
        products += ra * rb;
    }
    let sc = shared_tensor(OUT, [BM, BN]);
    finish<EPILOGUE = EPILOGUE>(sum(products, axis: 2)[.., .., 0], sc);
    sync();
    copy(load(sc), tile(c, [BM, BN])[.., .., bm, bn]);
}

test "gemm_skinny" for (m, n, k) in [(1, 57, 2511), (57, 1, 3000), (3, 71, 1135), (64, 2, 511), (1, 1, 1)] {
    let a = randn(bf16, [m, k], seed: 3);
    let b = randn(bf16, [n, k], seed: 4);
    let (c, d, e) = (empty(bf16, [m, n]), empty(bf16, [m, n]), empty(bf16, [m, n]));
    gemm_skinny(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
    assert(spills() == 0);
    gemm_skinny<BM = 8, BN = 1, BK = 512, EPILOGUE = relu>(a, b, d);
    assert_close(d, max(a @ b.T, 0.0), ulp: 4);
    assert(spills() == 0);
    // At odd strides each thread spills 28 B. With BK = 1024 and BM = 8, which spill nothing, the bench below took 14.0 us instead of 10.5.
    gemm_skinny<BM = 4, BN = 1, BK = 2048>(a, b, e);
    assert_close(e, a @ b.T, ulp: 4);
    assert(spills() <= 32);
}

test "gemm_skinny of other element types" for (T, U, OUT) in [
    (tf32, tf32, f32),
    (f8e4m3, f8e4m3, bf16),
    (f8e5m2, f8e4m3, f16),
    (i8, i8, i32),
    (u8, i8, bf16),
] {
    let (m, n, k) = (3, 20, 464);
    // Integers over their whole range: `cast` saturates.
    let spread = if T == i8 || T == u8 { 60.0 } else { 1.0 };
    let a = cast(randn(f32, [m, k], seed: 12) * spread, T);
    let b = cast(randn(f32, [n, k], seed: 13) * spread, U);
    let c = empty(OUT, [m, n]);
    gemm_skinny(a, b, c);
    if OUT == i32 {
        assert_eq(c, a @ b.T);
    } else {
        assert_close(c, a @ b.T, rtol: 1e-2, atol: 1e-4);
    }
}

test "gemm_skinny of operands along rows, at odd strides" {
    let a = randn(f16, [511, 4], seed: 5)[.., 0..3].T;
    let b = randn(f16, [511, 75], seed: 6).T;
    let c = empty(f16, [3, 75]);
    gemm_skinny(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
}

bench "one column of 398 rows" {
    let a = randn(bf16, [398, 10455]);
    let b = randn(bf16, [1, 10455]);
    let c = empty(bf16, [398, 1]);
    measure flops 2 * 398 * 10455 { gemm_skinny<BM = 4, BN = 1, BK = 2048>(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

bench "two rows of 8191 columns" {
    let a = randn(bf16, [2, 8191]);
    let b = randn(bf16, [8192, 8191]);
    let c = empty(bf16, [2, 8192]);
    measure flops 2 * 2 * 8192 * 8191 { gemm_skinny<BM = 2, BN = 8, BK = 512>(a, b, c) }
    baseline cublas::gemm(a, b.T, c)
}

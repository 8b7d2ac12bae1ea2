//! Products with weights of 4 bits for many rows: y = x · dequant(w)ᵀ, by warp group products.
//!
//! The weights are the instruction's M side: they go from shared memory to registers in the packed order that the compiler infers, and
//! are widened and scaled there. [`w4a16`](w4a16.hx) is for few rows, where reading the weights takes all the time.

/// y[m, n] = the sum over k of x[m, k] · (w[n, k] · scale[k / G, n]), where the weights are rounded to `T` after the scale, as Marlin does.
///
/// `pack(w, w4a16_gemm)` lays the weights out. Every `G` steps of K have their scale, and blocks of `BN` rows of the weights have `C` groups
/// of threads. A launch that gives none of the parameters of its tiles runs the member of the family that is fastest for its shape by the
/// cost model.
#[family(
    w4a16_gemm<BM = 32, BN = 64, C = 1, STAGES = 8>,
    w4a16_gemm<BM = 64, BN = 64, C = 1, STAGES = 8>,
    w4a16_gemm<BM = 64, BN = 128, C = 2, STAGES = 4>,
    w4a16_gemm<BM = 128, BN = 128, C = 2, STAGES = 4>,
    w4a16_gemm<BM = 256, BN = 128, C = 2, STAGES = 3>,
)]
kernel w4a16_gemm<BM = 128, BN = 128, G = 128, C = 2, STAGES = 4, T: type = f16, W: layout = infer>(
    x: T[m, k],
    w: i4[n, k] : W,
    scale: T[g, n],
    y: mut T[m, n],
)
    where k % 128 == 0, k % G == 0, G % 64 == 0, BN % (64 * C) == 0, g == k / G
    grid [cdiv(n, BN), cdiv(m, BM)]
{
    let [bn, bm] = block_idx;
    let sw = shared_tensor(i4, [BN, 64, STAGES]);
    let sx = shared_tensor(T, [BM, 64, STAGES]);
    let ss = shared_tensor(T, [BN, STAGES]);
    let full = pipeline(STAGES);
    warp_groups {
        producer {
            for i in 0..k / 64 {
                let s = full.acquire();
                copy_async(tile(w, [BN, 64])[.., .., bn, i], sw[.., .., s], signal: full);
                copy_async(tile(x, [BM, 64])[.., .., bm, i], sx[.., .., s], signal: full);
                copy_async(tile(scale, [1, BN])[0, .., i * 64 / G, bn], ss[.., s], signal: full);
            }
        }
        // The weights of a step are widened while the product of the step before runs.
        consumer C {
            let acc = register_tensor(f32, [BN, BM]);
            fill(acc, 0.0);
            for _i in 0..k / 128 {
                let s = full.wait();
                let one = cast(load(sw[.., .., s]), T) * load(ss[.., s])[.., new];
                gemm_wait(0);
                full.release_previous();
                gemm_async(acc, one, sx[.., .., s]);
                let t = full.wait();
                let other = cast(load(sw[.., .., t]), T) * load(ss[.., t])[.., new];
                gemm_wait(0);
                full.release_previous();
                gemm_async(acc, other, sx[.., .., t]);
            }
            gemm_wait(0);
            full.release();
            copy(permute(cast(acc, T), [1, 0]), tile(y, [BM, BN])[.., .., bm, bn]);
        }
    }
}

test "w4a16_gemm" for (m, n, k) in [(20, 128, 256), (100, 192, 384), (300, 272, 640)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(i4, [n, k], low: -8, high: 8, seed: 2);
    let scale = cast(uniform(f64, [k / 128, n], low: 0.02, high: 0.1, seed: 3), f16);
    let y = empty(f16, [m, n]);
    let packed = pack(w, w4a16_gemm);
    w4a16_gemm(x, packed, scale, y);
    let weights = cast(reshape(reshape(w, [n, k / 128, 128]) * scale.T[.., .., new], [n, k]), f16);
    assert_close(y, x @ weights.T, ulp: 2);
    assert(uses("wgmma") && redistributions() == 0 && spills() == 0);
}

test "tiles of w4a16_gemm in bf16" for (m, n, k) in [(70, 128, 256), (260, 144, 384)] {
    let x = randn(bf16, [m, k], seed: 1);
    let w = uniform(i4, [n, k], low: -8, high: 8, seed: 2);
    let scale = cast(uniform(f64, [k / 128, n], low: 0.02, high: 0.1, seed: 3), bf16);
    let y = empty(bf16, [m, n]);
    let packed = pack(w, w4a16_gemm<T = bf16>);
    let weights = cast(reshape(reshape(w, [n, k / 128, 128]) * scale.T[.., .., new], [n, k]), bf16);
    w4a16_gemm(x, packed, scale, y);
    assert_close(y, x @ weights.T, ulp: 2);
    w4a16_gemm<BM = 256, STAGES = 3>(x, packed, scale, y);
    assert_close(y, x @ weights.T, ulp: 2);
    assert(spills() == 0);
}

bench "w4a16_gemm" for m in [16, 64, 128, 256, 512, 1024, 2048] {
    let x = randn(f16, [m, 8192]);
    let w = uniform(i4, [8192, 8192], low: -8, high: 8);
    let scale = cast(uniform(f32, [64, 8192], low: 0.01, high: 0.02), f16);
    let y = empty(f16, [m, 8192]);
    let z = empty(f16, [m, 8192]);
    let f = randn(f16, [8192, 8192]);
    let packed = pack(w, w4a16_gemm);
    measure flops 2 * m * 8192 * 8192 { w4a16_gemm(x, packed, scale, y) }
    baseline cublas::gemm(x, f.T, z)
}

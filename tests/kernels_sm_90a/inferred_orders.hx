//! Weights in inferred orders on the way to warp group products, whose other operand lies in shared memory.

/// y[n, m] = w[n, k] · x[m, k]ᵀ: a producer fills the stages by boxes, two consumers widen the weights in registers.
kernel fed<BM = 128, BN = 128, BK = 64, STAGES = 4, W: layout = infer>(
    x: f16[m, k],
    w: u4[n, k] : W,
    y: mut f16[n, m],
)
    where k % BK == 0
    grid [cdiv(n, BN), cdiv(m, BM)]
{
    let [bn, bm] = block_idx;
    let sw = shared_tensor(u4, [BN, BK, STAGES]);
    let sx = shared_tensor(f16, [BM, BK, STAGES]);
    let full = pipeline(STAGES);
    warp_groups {
        producer {
            for i in 0..k / BK {
                let s = full.acquire();
                copy_async(tile(w, [BN, BK])[.., .., bn, i], sw[.., .., s], signal: full);
                copy_async(tile(x, [BM, BK])[.., .., bm, i], sx[.., .., s], signal: full);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BN, BM]);
            fill(acc, 0.0);
            for _i in 0..k / BK {
                let s = full.wait();
                let packed = load(sw[.., .., s]);
                gemm(acc, cast(packed, f16), sx[.., .., s]);
                full.release();
            }
            copy(cast(acc, f16), tile(y, [BN, BM])[.., .., bn, bm]);
        }
    }
}

/// [`fed`] with a scale for each row and group of `G` weights: it multiplies the sum of the group.
kernel scaled<BM = 64, BN = 128, G = 128, STAGES = 3, W: layout = infer>(
    x: f16[m, k],
    w: i4[n, k] : W,
    scale: f16[n, g],
    y: mut f16[n, m],
)
    where k % G == 0, g == k / G
    grid [cdiv(n, BN), cdiv(m, BM)]
{
    let [bn, bm] = block_idx;
    let sw = shared_tensor(i4, [BN, G, STAGES]);
    let sx = shared_tensor(f16, [BM, G, STAGES]);
    let full = pipeline(STAGES);
    warp_groups {
        producer {
            for i in 0..k / G {
                let s = full.acquire();
                copy_async(tile(w, [BN, G])[.., .., bn, i], sw[.., .., s], signal: full);
                copy_async(tile(x, [BM, G])[.., .., bm, i], sx[.., .., s], signal: full);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BN, BM]);
            fill(acc, 0.0);
            for i in 0..k / G {
                let s = full.wait();
                let group = register_tensor(f32, [BN, BM]);
                fill(group, 0.0);
                gemm(group, cast(load(sw[.., .., s]), f16), sx[.., .., s]);
                full.release();
                acc = acc + group * cast(load(tile(scale, [BN, 1])[.., .., bn, i]), f32);
            }
            copy(cast(acc, f16), tile(y, [BN, BM])[.., .., bn, bm]);
        }
    }
}

test "scaled" for (m, n, k) in [(64, 128, 256), (100, 256, 384)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(i4, [n, k], low: -8, high: 8, seed: 2);
    let scale = uniform(f16, [n, k / 128], low: 0.5, high: 2.0, seed: 3);
    let y = empty(f16, [n, m]);
    scaled(x, pack(w, scaled), scale, y);
    let weights = reshape(reshape(w, [n, k / 128, 128]) * scale[.., .., new], [n, k]);
    assert_close(y, weights @ x.T, ulp: 4);
}

test "fed" for (m, n, k) in [(128, 128, 256), (100, 256, 448)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let y = empty(f16, [n, m]);
    fed(x, pack(w, fed), y);
    assert_close(y, w @ x.T, ulp: 4);
}

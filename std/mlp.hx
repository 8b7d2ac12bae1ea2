//! A multilayer perceptron in one kernel: activations never leave the chip.

/// y = layer after layer of x ← relu(x · w[l]ᵀ + b[l]), without the relu after the last one. All layers are `W` wide; a block takes `BM`
/// rows through all of them, and the weights of the next layer are on their way while one is multiplied.
kernel mlp<BM = 128, W = 128, THREADS = 128, T: type = f16>(
    x: T[m, W],
    w: T[layers, W, W],
    b: T[layers, W],
    y: mut T[m, W],
)
    where layers >= 1
    grid [cdiv(m, BM)]
    threads THREADS
{
    let sw = shared_tensor(T, [W, W, 2]);
    let sx = shared_tensor(T, [BM, W]);
    copy_async(tile(w, [1, W, W])[0, .., .., 0, 0, 0], sw[.., .., 0]);
    copy_async(tile(x, [BM, W])[.., .., block_idx, 0], sx);
    commit();
    wait(0);
    sync();
    let rx = load(sx);
    for l in 0..layers {
        copy_async(tile(w, [1, W, W])[0, .., .., l + 1, 0, 0], sw[.., .., (l + 1) % 2]);
        commit();
        let bias = cast(load(tile(b, [1, W])[.., .., l, 0]), f32);
        let acc = register_tensor(f32, [BM, W]);
        fill(acc, 0.0);
        // Each warp has whole rows, so that its results are its operands in the next layer, in the same registers.
        #[unroll]
        for k in 0..W / 32 {
            let inner = 32 * k;
            gemm(acc, rx[.., inner..inner + 32], sw[.., inner..inner + 32, l % 2], warps: [THREADS / 32, 1]);
        }
        acc = acc + bias;
        if l + 1 < layers {
            acc = max(acc, 0.0);
        }
        rx = cast(acc, T);
        wait(0);
        sync();
    }
    copy(rx, sx);
    sync();
    copy(sx, tile(y, [BM, W])[.., .., block_idx, 0]);
}

test "mlp" for (m, layers) in [(128, 1), (200, 3), (33, 4)] {
    for W in [64, 128] {
        for T in [f16, bf16] {
            let x = randn(T, [m, W], seed: 1);
            let w = cast(randn(T, [layers, W, W], seed: 2) * 0.15, T);
            let b = randn(T, [layers, W], seed: 3);
            let y = empty(T, [m, W]);
            mlp(x, w, b, y);
            let v = cast(x, f64);
            for l in 0..layers {
                v = v @ w[l].T + b[l];
                if l + 1 < layers {
                    v = max(v, 0.0);
                }
                // What goes from layer to layer is rounded as in the kernel.
                v = cast(cast(v, T), f64);
            }
            // A rounding that falls the other way in one layer is carried on by those after it.
            assert_close(y, v, ulp: 8);
        }
    }
}

test "mlp moves 16 bytes at a time, free of bank conflicts" {
    let x = randn(f16, [128, 128], seed: 1);
    let w = cast(randn(f16, [2, 128, 128], seed: 2) * 0.1, f16);
    let b = randn(f16, [2, 128], seed: 3);
    let y = empty(f16, [128, 128]);
    mlp(x, w, b, y);
    assert(uses("cp.async.cg.16") && uses("ldmatrix.x4"));
    assert(bytes_per_access("x") == 16 && bytes_per_access("w") == 16 && bytes_per_access("y") == 16);
    assert(conflicts() == 0);
    assert(spills() == 0);
}

bench "mlp 65536 × 128, 8 layers" {
    let x = randn(f16, [65536, 128]);
    let w = randn(f16, [8, 128, 128]);
    let b = randn(f16, [8, 128]);
    let y = empty(f16, [65536, 128]);
    measure flops 8 * 2 * 65536 * 128 * 128 { mlp(x, w, b, y) }
    // One layer: the chain takes eight times as long.
    baseline cublas::gemm(x, w[0].T, y)
}

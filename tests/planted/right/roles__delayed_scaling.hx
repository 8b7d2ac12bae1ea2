/// Quantization with delayed scaling: one role writes x / scale as f8e4m3, with the scale of the step before, while another one finds the largest
/// magnitude of each tile of rows for the next step. Both read every stage of one ring; `amax` holds bits of floats, 0 before the launch.
kernel delayed_scaling<BM = 16, BN = 128, S = 3>(
    x: f32[m, n],
    scale: f32[1],
    y: mut f8e4m3[m, n],
    amax: mut i32[1],
)
    where n % 16 == 0
    grid [cdiv(m, BM)]
{
    let (bm, tiles) = (block_idx, cdiv(n, BN));
    let stages = shared_tensor(f32, [BM, BN, S]);
    let pipe = pipeline(S);
    warp_groups {
        producer {
            for j in 0..tiles {
                let s = pipe.acquire();
                copy_async(tile(x, [BM, BN])[.., .., bm, j], stages[.., .., s], signal: pipe);
            }
        }
        consumer {
            let by = 1.0 / scale[0];
            for j in 0..tiles {
                let s = pipe.wait();
                let v = load(stages[.., .., s]);
                pipe.release();
                copy(cast(v * by, f8e4m3), tile(y, [BM, BN])[.., .., bm, j]);
            }
        }
        consumer {
            let largest = register_tensor(f32, [1, 1]);
            fill(largest, 0.0);
            for _ in 0..tiles {
                let s = pipe.wait();
                let v = abs(load(stages[.., .., s]));
                pipe.release();
                largest = max(largest, max(max(v, axis: 1), axis: 0));
            }
            // Magnitudes have the order of their bits.
            atomic_max(amax, bitcast(largest[0, ..], i32));
        }
    }
}

test "delayed scaling" for (m, n) in [(16, 128), (50, 320), (3, 16)] {
    let x = cast(randn(f32, [m, n], seed: 1) * 100.0, f32);
    let scale = full(f32, [1], 0.5);
    let (y, amax) = (empty(f8e4m3, [m, n]), zeros(i32, [1]));
    delayed_scaling(x, scale, y, amax);
    assert_eq(y, cast(cast(x * 2.0, f32), f8e4m3));
    assert_eq(bitcast(amax, f32), [max(abs(x))]);
}

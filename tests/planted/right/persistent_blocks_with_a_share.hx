// Two forms of the number of tiles of a block.
kernel squared(x: f32[m], y: mut f32[m])
    grid [multiprocessors]
{
    let s = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            for i in 0..cdiv(cdiv(m, 256) - block_idx, grid_dim) {
                let k = pipe.acquire();
                copy_async(tile(x, [256])[.., block_idx + i * grid_dim], s[.., k], signal: pipe);
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) / grid_dim + min(1, max(0, cdiv(m, 256) % grid_dim - block_idx)) {
                let k = pipe.wait();
                let v = load(s[.., k]);
                copy(v * v, tile(y, [256])[.., block_idx + i * grid_dim]);
                pipe.release();
            }
        }
    }
}

test "squared" for m in [0, 256, 40000] {
    let x = randn(f32, [m], seed: 1);
    let y = empty(f32, [m]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

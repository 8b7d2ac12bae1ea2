// planted: HX0409 in check
// If the tiles are no multiple of the blocks, some blocks copy a tile that nobody waits for.
kernel squared(x: f32[m], y: mut f32[m])
    grid [multiprocessors]
{
    let s = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            for i in 0..cdiv(cdiv(m, 256) - block_idx, grid_dim) {
                let k = pipe.acquire();
                copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) / grid_dim {
                let k = pipe.wait();
                let v = load(s[.., k]);
                copy(v * v, tile(y, [256])[.., i]);
                pipe.release();
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [640], seed: 1);
    let y = empty(f32, [640]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

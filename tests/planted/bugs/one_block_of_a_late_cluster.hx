// planted: HX0409 in check
// One block of all waits for a tile less, the last one of the eleventh cluster.
kernel squared(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 4096) * 4]
    cluster [4]
{
    let s = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            for i in 0..4 {
                let k = pipe.acquire();
                copy_async(tile(x, [256])[.., block_idx * 4 + i], s[.., k], signal: pipe);
            }
        }
        consumer {
            for i in 0..if block_idx == 43 { 3 } else { 4 } {
                let k = pipe.wait();
                let v = load(s[.., k]);
                copy(v * v, tile(y, [256])[.., block_idx * 4 + i]);
                pipe.release();
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [49152], seed: 1);
    let y = empty(f32, [49152]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

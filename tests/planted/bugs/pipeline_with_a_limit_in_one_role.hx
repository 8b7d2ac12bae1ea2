// planted: HX0404 in check
// The producer stops after 100 tiles, and the consumer waits for all of them.
kernel squared(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            for i in 0..min(cdiv(m, 256), 100) {
                let k = pipe.acquire();
                copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                let k = pipe.wait();
                let v = load(s[.., k]);
                copy(v * v, tile(y, [256])[.., i]);
                pipe.release();
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [26624], seed: 1);
    let y = empty(f32, [26624]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

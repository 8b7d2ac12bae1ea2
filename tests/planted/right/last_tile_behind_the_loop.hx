// The consumer waits for the last tile behind its loop: there is one, because m is at least 1.
kernel squared(x: f32[m], y: mut f32[m])
    where m >= 1
    grid [1]
{
    let s = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            for i in 0..cdiv(m, 256) {
                let k = pipe.acquire();
                copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) - 1 {
                let k = pipe.wait();
                let v = load(s[.., k]);
                copy(v * v, tile(y, [256])[.., i]);
                pipe.release();
            }
            let k = pipe.wait();
            let v = load(s[.., k]);
            copy(v * v, tile(y, [256])[.., cdiv(m, 256) - 1]);
            pipe.release();
        }
    }
}

test "squared" for m in [1, 256, 2000] {
    let x = randn(f32, [m], seed: 1);
    let y = empty(f32, [m]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

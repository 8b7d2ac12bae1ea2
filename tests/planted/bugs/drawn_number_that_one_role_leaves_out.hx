// planted: HX0409 in check
// The consumer leaves out the tile with number 77.
kernel squared(x: f32[m], y: mut f32[m], c: mut i32[1])
    grid [2]
{
    let s = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    let work = counter(c, cdiv(m, 256));
    warp_groups {
        producer {
            for i in work {
                let k = pipe.acquire();
                copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
            }
        }
        consumer {
            for i in work {
                if i != 77 {
                    let k = pipe.wait();
                    let v = load(s[.., k]);
                    copy(v * v, tile(y, [256])[.., i]);
                    pipe.release();
                }
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [25600], seed: 1);
    let y = empty(f32, [25600]);
    squared(x, y, zeros(i32, [1]));
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

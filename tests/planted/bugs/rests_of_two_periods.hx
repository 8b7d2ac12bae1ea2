// planted: HX0409 in check
// The producer leaves out each 48th stage of the second pipeline, the consumer each 47th.
kernel squared(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [256, 2]);
    let r = shared_tensor(f32, [256, 2]);
    let (p, q) = (pipeline(2), pipeline(2));
    warp_groups {
        producer {
            for i in 0..cdiv(m, 256) {
                let k = p.acquire();
                copy_async(tile(x, [256])[.., i], s[.., k], signal: p);
                if i % 48 != 47 {
                    let k = q.acquire();
                    copy_async(tile(x, [256])[.., i], r[.., k], signal: q);
                }
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                let k = p.wait();
                let v = load(s[.., k]);
                p.release();
                if i % 47 != 46 {
                    let k = q.wait();
                    v = load(r[.., k]);
                    q.release();
                }
                copy(v * v, tile(y, [256])[.., i]);
            }
        }
    }
}

test "squared" {
    let x = randn(f32, [12032], seed: 1);
    let y = empty(f32, [12032]);
    squared(x, y);
    assert_close(y, x * x, rtol: 1e-6, atol: 0.0);
}

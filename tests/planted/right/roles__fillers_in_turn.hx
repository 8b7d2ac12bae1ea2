// Two roles fill a ring in turn. With an odd number of stages each of them fills every stage. A role that comes back to a stage knows that
// it was given back since, because the stages are given back in order.
kernel by_turns<S = 3>(x: f32[m, 64], y: mut f32[m, 64])
    grid [1]
{
    let s = shared_tensor(f32, [32, 64, S]);
    let pipe = pipeline(S);
    warp_groups {
        producer 2 {
            for i in 0..cdiv(m, 64) {
                let p = pipe.acquire();
                copy_async(tile(x, [32, 64])[.., .., 2 * i, 0], s[.., .., p], signal: pipe);
                pipe.skip(1);
            }
        }
        producer {
            for i in 0..cdiv(m, 64) {
                pipe.skip(1);
                sync();
                let p = pipe.acquire();
                copy_async(tile(x, [32, 64])[.., .., 2 * i + 1, 0], s[.., .., p], signal: pipe);
            }
        }
        consumer {
            for i in 0..cdiv(m, 64) * 2 {
                let q = pipe.wait();
                copy(load(s[.., .., q]), tile(y, [32, 64])[.., .., i, 0]);
                pipe.release();
            }
        }
    }
}

test "two roles fill a ring in turn" for (m, S) in [(64, 3), (300, 2), (1000, 3), (1000, 5)] {
    let x = randn(f32, [m, 64], seed: 1);
    let y = empty(f32, [m, 64]);
    by_turns<S = S>(x, y);
    assert_eq(y, x);
}

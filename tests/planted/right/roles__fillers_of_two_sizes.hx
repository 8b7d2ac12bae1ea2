// The boxes of one role and the copies by threads of another fill one ring. The roles have 256 and 128 threads, and a stage gets as
// many arrivals from either.
kernel filled<S = 2>(x: f32[m, 64], z: f32[m, l], y: mut f32[m, 64])
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
                copy_async(tile(z, [32, 64])[.., .., 2 * i + 1, 0], s[.., .., p], signal: pipe);
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

test "roles of two sizes fill a ring" for (m, S) in [(64, 2), (300, 4), (1000, 2), (1000, 4)] {
    let x = randn(f32, [m, 64], seed: 1);
    let y = empty(f32, [m, 64]);
    let z = randn(f32, [m, 65], seed: 2);
    filled<S = S>(x, z, y);
    for i in 0..cdiv(m, 32) {
        let to = min(i * 32 + 32, m);
        assert_eq(y[i * 32..to], if i % 2 == 0 { x[i * 32..to] } else { z[i * 32..to, ..64] });
    }
}

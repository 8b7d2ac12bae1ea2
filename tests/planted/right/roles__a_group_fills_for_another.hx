// Group 0 fills the ring and reads nothing of it: its warps arrive at each stage, so none of them is late.
kernel handed_over<S = 2>(z: f32[m, 64], y: mut f32[m, 64])
    grid [1]
{
    let t = shared_tensor(f32, [32, 64, S]);
    let p2 = pipeline(S, readers: 1);
    warp_groups {
        consumer each 2 (g) {
            if g == 0 {
                for i in 0..cdiv(m, 32) {
                    let p = p2.acquire();
                    copy_async(tile(z, [32, 64])[.., .., i, 0], t[.., .., p], signal: p2);
                }
            } else {
                for i in 0..cdiv(m, 32) {
                    let r = p2.wait();
                    copy(load(t[.., .., r]), tile(y, [32, 64])[.., .., i, 0]);
                    p2.release();
                }
            }
        }
    }
}

test "a group fills for another one" for (m, S) in [(64, 2), (300, 1), (1000, 2), (1000, 3)] {
    let z = randn(f32, [m, 64], seed: 2);
    let y = empty(f32, [m, 64]);
    handed_over<S = S>(z, y);
    assert_eq(y, z);
}

// planted: HX0310 in check
// The consumer masks nothing, so the last stage adds exp(0).
kernel sums(x: f32[m, n], y: mut f32[m])
    grid [cdiv(m, 64)]
{
    let ring = shared_tensor(f32, [64, 32, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            for j in 0..cdiv(n, 32) {
                let i = pipe.acquire();
                copy_async(tile(x, [64, 32])[.., .., block_idx, j], ring[.., .., i], signal: pipe);
            }
        }
        consumer 1 {
            let total = register_tensor(f32, [64, 1]);
            fill(total, 0.0);
            for j in 0..cdiv(n, 32) {
                let i = pipe.wait();
                total += sum(exp(load(ring[.., .., i])), axis: 1);
                pipe.release();
            }
            copy(total[.., 0], tile(y, [64])[.., block_idx]);
        }
    }
}

test "sums" {
    let x = randn(f32, [64, 72], seed: 1);
    let y = empty(f32, [64]);
    sums(x, y);
    assert_close(y, sum(exp(x), axis: 1), rtol: 1e-5);
}

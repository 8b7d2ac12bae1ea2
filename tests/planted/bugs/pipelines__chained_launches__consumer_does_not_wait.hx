// planted: HX0416 in check
// The consumer does not wait for the launches before. They may still read what this launch overwrites: `y` of this launch is `x`
// of the one before. Shows in chains on a GPU that overlaps launches: blocks of the earlier launch read elements of the later
// one.
/// One step of a sequence of launches that overlap: y = 0.5 · (x rolled by one tile) + b. The barriers of the ring exist before the wait for
/// the launch before, and the bias, which no launch writes, is fetched behind it all the same.
kernel chained<B = 256, STAGES = 2>(x: f32[n], b: f32[n], y: mut f32[n])
    where n % B == 0, n > 0
    grid [min(multiprocessors, n / B)]
{
    let tiles = n / B;
    let rounds = cdiv(tiles - block_idx, grid_dim);
    let (sx, sb) = (shared_tensor(f32, [B, STAGES]), shared_tensor(f32, [B, STAGES]));
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            wait_for_previous();
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                let s = pipe.acquire();
                copy_async(tile(x, [B])[.., (t + 1) % tiles], sx[.., s], signal: pipe);
                copy_async(tile(b, [B])[.., t], sb[.., s], signal: pipe);
            }
            allow_next();
        }
        consumer {
            for w in 0..rounds {
                let t = block_idx + w * grid_dim;
                let s = pipe.wait();
                let v = load(sx[.., s]) * 0.5 + load(sb[.., s]);
                pipe.release();
                copy(v, tile(y, [B])[.., t]);
            }
        }
    }
}

test "chained launches" for tiles in [1, 2, 5, 11] {
    let n = tiles * 256;
    let (x, b) = (randn(f32, [n], seed: 1), randn(f32, [n], seed: 2));
    let y = empty(f32, [n]);
    let expected = cast(x, f64);
    for _ in 0..2 {
        chained(x, b, y);
        chained(y, b, x);
    }
    for _ in 0..4 {
        let rolled = zeros(f64, [n]);
        rolled[..n - 256] = expected[256..];
        rolled[n - 256..] = expected[..256];
        expected = 0.5 * rolled + b;
    }
    assert_close(x, expected, rtol: 1e-5, atol: 1e-5);
}

//! Kernels whose blocks form clusters.

/// Pairs of blocks walk over the tiles together.
kernel paired<B = 64>(x: f32[n], y: mut f32[n])
    grid [2 * min(multiprocessors / 2, cdiv(n, 2 * B))]
    cluster [2]
    threads 32
{
    let (rank, pair, pairs) = (block_idx % 2, block_idx / 2, grid_dim / 2);
    for w in 0..cdiv(cdiv(n, 2 * B) - pair, pairs) {
        let t = 2 * (pair + w * pairs) + rank;
        copy(load(tile(x, [B])[.., t]), tile(y, [B])[.., t]);
    }
}

test "paired" for n in [64, 1, 128, 129, 1000, 5000] {
    let x = randn(f32, [n], seed: 4);
    let y = empty(f32, [n]);
    paired(x, y);
    assert_eq(y, x);
}

/// The blocks of a pair scale one tile of `x`, which they share, by two numbers.
kernel shared_tile<B = 256>(x: f32[m], y: mut f32[2, m])
    where m % 4 == 0
    grid [2 * cdiv(m, B)]
    cluster [2]
    threads 64
{
    let (rank, pair) = (block_idx % 2, block_idx / 2);
    let stages = shared_tensor(f32, [B, 1]);
    let pipe = pipeline(1);
    let s = pipe.acquire();
    copy_async(tile(x, [B])[.., pair], stages[.., s], signal: pipe, multicast: 0);
    let s = pipe.wait();
    let scaled = load(stages[.., s]) * cast(rank + 1, f32);
    copy(scaled, tile(y[rank], [B])[.., pair]);
    pipe.release();
}

test "the blocks of a cluster share a tile" for m in [4, 256, 1000] {
    let x = randn(f32, [m], seed: 5);
    let y = empty(f32, [2, m]);
    shared_tile(x, y);
    assert_eq(y[0, ..], x);
    assert_eq(y[1, ..], x * 2.0);
}

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

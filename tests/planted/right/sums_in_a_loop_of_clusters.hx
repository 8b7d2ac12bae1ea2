// The blocks of a cluster make the same number of rounds, which depends on their cluster.
kernel pairs(x: f32[2, n, 64], y: mut f32[n, 64])
    grid [2 * min(3, n)]
    cluster [2]
    threads 64
{
    let (rank, cluster) = (block_idx % 2, block_idx / 2);
    for i in 0..cdiv(n - cluster, grid_dim / 2) {
        let row = cluster + i * (grid_dim / 2);
        let all = sum(load(x[rank, row]), cluster: 0, to: 1);
        if rank == 1 {
            copy(all, y[row]);
        }
    }
}

test "pairs" for n in [1, 3, 7] {
    let x = randn(f32, [2, n, 64], seed: 1);
    let y = empty(f32, [n, 64]);
    pairs(x, y);
    assert_close(y, x[0, .., ..] + x[1, .., ..], ulp: 1);
}

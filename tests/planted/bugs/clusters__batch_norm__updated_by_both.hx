// planted: HX0618 in test
// Both blocks of the cluster step the running mean. Shows on every launch, depending on the schedule: the second block may read
// the mean that the first one has stored, and then steps it twice.
/// Batch normalization in training: y = (x - mean) / √(var + eps) over the rows for each column. The rows are dealt to the `C` blocks of a
/// cluster; sums and squares of `BN` columns travel together; every block also normalizes its rows, and the first one updates the running mean.
kernel batch_norm<BM = 32, BN = 32, C = 2>(
    x: f32[m, n],
    y: mut f32[m, n],
    running: mut f32[n],
    momentum: f32,
    eps: f32,
)
    where m >= 1
    grid [C, cdiv(n, BN)]
    cluster [C, 1]
    threads 128
{
    let [rank, bn] = block_idx;
    let tiles = cdiv(m, BM);
    let rounds = cdiv(tiles - rank, C);
    let sums = register_tensor(f32, [BM, BN]);
    fill(sums, 0.0);
    for i in 0..rounds {
        sums = sums + load(tile(x, [BM, BN])[.., .., rank + i * C, bn]);
    }
    let mean = sum(sum(sums, axis: 0), cluster: 0) / cast(m, f32);
    let squares = register_tensor(f32, [BM, BN]);
    fill(squares, 0.0);
    for i in 0..rounds {
        let v = load(tile(x, [BM, BN])[.., .., rank + i * C, bn]);
        let centred = where(index(v, 0) + (rank + i * C) * BM < m, v - mean, 0.0);
        squares = squares + centred * centred;
    }
    let variance = sum(sum(squares, axis: 0), cluster: 0) / cast(m, f32);
    let scale = rsqrt(variance + eps);
    for i in 0..rounds {
        let v = load(tile(x, [BM, BN])[.., .., rank + i * C, bn]);
        copy((v - mean) * scale, tile(y, [BM, BN])[.., .., rank + i * C, bn]);
    }
    if rank < C {
        let old = load(tile(running, [BN])[.., bn]);
        sync();
        copy(old + (mean[0, ..] - old) * momentum, tile(running, [BN])[.., bn]);
    }
}

test "normalized batches" for (m, n) in [(64, 32), (100, 70), (1, 5), (33, 64), (300, 20)] {
    let x = cast(randn(f32, [m, n], seed: 1) + 2.0, f32);
    let (y, running) = (empty(f32, [m, n]), randn(f32, [n], seed: 2));
    let old = running.copy();
    batch_norm(x, y, running, 0.25, 1e-3);
    let middle = mean(x, axis: 0, keepdims: true);
    let c = x - middle;
    assert_close(y, c / sqrt(mean(c * c, axis: 0, keepdims: true) + 1e-3), rtol: 1e-3, atol: 1e-4);
    assert_close(running, old + (middle[0] - old) * 0.25, rtol: 1e-5, atol: 1e-5);
}

// planted: HX0612 in test
// The share of a block is `steps / C`, floored. Shows where the number of steps along K is no multiple of 4: the last steps are
// summed by nobody (all of them if there are fewer than 4).
/// y = a · x, split along K over the blocks of a cluster: each block sums its steps, the first block gets the sum, adds the bias and stores it.
kernel split_gemv<BM = 32, BK = 128, C = 4>(a: f16[m, k], x: f16[k], bias: f32[m], y: mut f32[m])
    grid [C * cdiv(m, BM)]
    cluster [C]
    threads 128
{
    let (rank, bm) = (block_idx % C, block_idx / C);
    let steps = cdiv(k, BK);
    let (first, end) = (rank * (steps / C), (rank + 1) * (steps / C));
    let acc = register_tensor(f32, [BM, BK]);
    fill(acc, 0.0);
    for i in first..end {
        let row = cast(load(tile(a, [BM, BK])[.., .., bm, i]), f32);
        acc = acc + row * cast(load(tile(x, [BK])[.., i][new, ..]), f32);
    }
    let part = rearrange(sum(acc, axis: 1)[.., 0], auto);
    let total = sum(part, cluster: 0, to: 0);
    if rank == 0 {
        copy(total + load(tile(bias, [BM])[.., bm]), tile(y, [BM])[.., bm]);
    }
}

test "a product split over a cluster" for (m, k) in [(32, 512), (100, 1000), (7, 100), (64, 3000)] {
    let (a, x, bias) = (randn(f16, [m, k], seed: 1), randn(f16, [k], seed: 2), randn(f32, [m], seed: 3));
    let y = empty(f32, [m]);
    split_gemv(a, x, bias, y);
    assert_close(y, sum(a * x, axis: 1) + bias, rtol: 1e-3, atol: 1e-3);
}

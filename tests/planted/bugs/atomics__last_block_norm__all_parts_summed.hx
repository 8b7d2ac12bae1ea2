// planted: HX0612 in test
// The last block sums all `P` rows of `parts`, also those that no block has written. Shows where there are fewer than 16 blocks
// of rows: what was in the buffer before is added.
/// The derivative of the weights of RMS normalization, deterministically: dw[j] = Σ over rows of dy · x · r. Each block of rows leaves its partial
/// sums in `parts`; the block that finishes last in a block of columns adds them up in order. `finished` is 0 before and after a launch.
kernel last_block_norm<BM = 16, BN = 64, P = 16>(
    x: f32[m, n],
    dy: f32[m, n],
    r: f32[m],
    parts: mut f32[P, n],
    finished: mut i32[columns],
    dw: mut f32[n],
)
    where columns == cdiv(n, BN), m >= 1
    grid [min(P, cdiv(m, BM)), columns]
    threads 64
{
    let [first, bn] = block_idx;
    let [blocks, _] = grid_dim;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for i in 0..cdiv(cdiv(m, BM) - first, blocks) {
        let t = first + i * blocks;
        let scale = load(tile(r, [BM])[.., t])[.., new];
        acc = acc + load(tile(x, [BM, BN])[.., .., t, bn]) * load(tile(dy, [BM, BN])[.., .., t, bn]) * scale;
    }
    copy(sum(acc, axis: 0)[0, ..], tile(parts[first], [BN])[.., bn]);
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    let ticket = scalar(atomic_add(tile(finished, [1])[.., bn], one, order: "acq_rel"));
    if ticket == blocks - 1 {
        let all = load(tile(parts, [P, BN])[.., .., 0, bn]);
        copy(sum(all, axis: 0)[0, ..], tile(dw, [BN])[.., bn]);
        fill(one, 0);
        copy(one, tile(finished, [1])[.., bn]);
    }
}

test "derivatives of weights" for (m, n) in [(16, 64), (100, 100), (500, 200), (1, 3)] {
    let (x, dy, r) = (randn(f32, [m, n], seed: 1), randn(f32, [m, n], seed: 2), uniform(f32, [m], seed: 3));
    let (parts, dw) = (full(f32, [16, n], nan), empty(f32, [n]));
    let finished = zeros(i32, [cdiv(n, 64)]);
    for _ in 0..2 {
        last_block_norm(x, dy, r, parts, finished, dw);
        assert_close(dw, sum(x * dy * reshape(r, [m, 1]), axis: 0), rtol: 1e-4, atol: 1e-4);
        assert_eq(finished, zeros(i32, [cdiv(n, 64)]));
    }
}

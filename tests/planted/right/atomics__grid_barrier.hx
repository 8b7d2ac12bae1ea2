use std::math::LOG2E;

/// y = softmax(x) of one long vector in one launch. The blocks run at the same time, because there are not more than multiprocessors; they meet
/// at a barrier when each has left the maximum and the sum of its part. `arrived` counts on over launches: `round` is their number.
kernel grid_barrier<B = 256, P = 8>(
    x: f32[n],
    y: mut f32[n],
    tops: mut f32[P],
    totals: mut f32[P],
    arrived: mut i32[1],
    round: i32,
)
    where P <= multiprocessors || cdiv(n, B) <= multiprocessors, round >= 0, n >= 1
    grid [min(P, cdiv(n, B))]
    threads 64
{
    let (top, total) = (register_tensor(f32, [1]), register_tensor(f32, [1]));
    fill(top, -1.0e30);
    fill(total, 0.0);
    let rounds = cdiv(cdiv(n, B) - block_idx, grid_dim);
    for i in 0..rounds {
        let v = load(tile(x, [B], pad: -inf)[.., block_idx + i * grid_dim]);
        let higher = max(top, max(v, axis: 0));
        total = total * exp2((top - higher) * LOG2E) + sum(exp2((v - higher) * LOG2E), axis: 0);
        top = higher;
    }
    copy(top, tile(tops, [1])[.., block_idx]);
    copy(total, tile(totals, [1])[.., block_idx]);
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    atomic_add(arrived, one, order: "release");
    while scalar(atomic_load(arrived, order: "acquire")) < (round + 1) * grid_dim {}
    let (all, sums) = (load(tops), load(totals));
    let there = index(all, 0) < grid_dim;
    let most = max(where(there, all, -inf), axis: 0);
    let whole = sum(where(there, sums * exp2((all - most) * LOG2E), 0.0), axis: 0);
    for i in 0..rounds {
        let v = load(tile(x, [B])[.., block_idx + i * grid_dim]);
        copy(exp2((v - most) * LOG2E) / whole, tile(y, [B])[.., block_idx + i * grid_dim]);
    }
}

test "a barrier of all blocks" for n in [256, 1000, 700, 3] {
    let x = randn(f32, [n], seed: 1);
    let (y, tops, totals) = (empty(f32, [n]), zeros(f32, [8]), zeros(f32, [8]));
    let arrived = zeros(i32, [1]);
    for round in 0..2 {
        grid_barrier(x, y, tops, totals, arrived, round);
        assert_close(y, softmax(x, axis: 0), rtol: 1e-4, atol: 1e-7);
    }
}

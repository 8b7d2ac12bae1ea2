// planted: HX0310 in check
// The first expert is replaced by 0 and not by -inf before the second is looked for. Shows on rows with fewer than two logits
// above 0: the first expert is chosen twice.
/// The gate of a mixture of experts: the two largest logits of each token, their experts, and softmax weights of the two. `N` is at least the number of
/// experts.
kernel top_two_gate<BM = 16, N = 32>(x: f32[m, n], experts: mut i32[m, 2], weights: mut f32[m, 2])
    where n <= N, n >= 2
    grid [cdiv(m, BM)]
    threads 64
{
    let v = load(tile(x, [BM, N], pad: -inf)[.., .., block_idx, 0]);
    let first = argmax(v, axis: 1);
    let top = max(v, axis: 1);
    let rest = where(index(v, 1) == first, 0.0, v);
    let second = argmax(rest, axis: 1);
    let next = max(rest, axis: 1);
    let ratio = exp(next - top);
    let share = 1.0 / (1.0 + ratio);
    copy(rearrange(concat(first, second, axis: 1), auto), tile(experts, [BM, 2])[.., .., block_idx, 0]);
    copy(
        rearrange(concat(share, ratio * share, axis: 1), auto),
        tile(weights, [BM, 2])[.., .., block_idx, 0],
    );
}

test "two experts" for (m, n) in [(16, 32), (50, 8), (7, 2), (33, 20)] {
    let x = cast(randn(f32, [m, n], seed: 1) - 5.0, f32);
    let (experts, weights) = (empty(i32, [m, 2]), empty(f32, [m, 2]));
    top_two_gate(x, experts, weights);
    for i in 0..m {
        let rest = cast(x[i], f64);
        let a = argmax(rest);
        let top = max(rest);
        rest[a] = -inf;
        let b = argmax(rest);
        let r = exp(max(rest) - top);
        assert_eq(experts[i], [a, b]);
        assert_close(weights[i], [1.0 / (1.0 + r), r / (1.0 + r)], rtol: 1e-4);
    }
}

// planted: HX0401 in check
// The `sync()` at the beginning of a round is missing. Shows in blocks with two rounds or more (t > 128): a warp that is ahead
// copies the next keys and values over those that other warps still multiply.
use std::math::LOG2E;

/// Attention with long keys for few queries: the keys of a sequence are dealt to the `C` blocks of a cluster, each computes weights and weighted
/// values of its part with its own maximum; then the parts are brought to the largest maximum of all, and summed over the cluster.
kernel grouped_decode<M = 64, D = 64, BN = 64, C = 2>(
    q: f16[b, M, D],
    k: f16[b, t, D],
    v: f16[b, t, D],
    o: mut f32[b, M, D],
    scale: f32,
)
    where t >= 1
    grid [C, b]
    cluster [C, 1]
    threads 128
{
    let [rank, batch] = block_idx;
    let tiles = cdiv(t, BN);
    let (sq, sk, sv) = (shared_tensor(f16, [M, D]), shared_tensor(f16, [BN, D]), shared_tensor(f16, [BN, D]));
    let (acc, x) = (register_tensor(f32, [M, D]), register_tensor(f32, [M, BN]));
    let (top, total) = (register_tensor(f32, [M, 1]), register_tensor(f32, [M, 1]));
    let factor = scale * LOG2E;
    fill(acc, 0.0);
    fill(top, -1.0e30);
    fill(total, 0.0);
    copy_async(tile(q[batch], [M, D])[.., .., 0, 0], sq);
    commit();
    wait(0);
    for i in 0..cdiv(tiles - rank, C) {
        let j = rank + i * C;
        copy_async(tile(k[batch], [BN, D])[.., .., j, 0], sk);
        copy_async(tile(v[batch], [BN, D])[.., .., j, 0], sv);
        commit();
        wait(0);
        sync();
        fill(x, 0.0);
        gemm(x, sq, sk);
        x = where(index(x, 1) + j * BN < t, x, -inf);
        let higher = max(top, max(x, axis: 1));
        let fade = exp2((top - higher) * factor);
        x = exp2((x - higher) * factor);
        total = total * fade + sum(x, axis: 1);
        top = higher;
        acc = acc * fade;
        gemm(acc, cast(x, f16), sv.T);
    }
    let column = register_tensor(f32, [M, C]);
    fill(column, 0.0);
    column = where(index(column, 1) == rank, top, 0.0);
    let most = max(sum(column, cluster: 0), axis: 1);
    let fade = exp2((top - most) * factor);
    let whole = sum(total * fade, cluster: 0);
    let part = sum(acc * fade, cluster: 0, scatter: 1);
    copy(part / whole, tile(o[batch], [M, D / C])[.., .., 0, rank]);
}

test "long keys" for (b, t) in [(1, 128), (2, 200), (1, 500), (2, 20)] {
    let q = randn(f16, [b, 64, 64], seed: 1);
    let (k, v) = (randn(f16, [b, t, 64], seed: 2), randn(f16, [b, t, 64], seed: 3));
    let o = empty(f32, [b, 64, 64]);
    grouped_decode(q, k, v, o, 0.125);
    for i in 0..b {
        assert_close(o[i], softmax(q[i] @ k[i].T * 0.125, axis: 1) @ v[i], rtol: 5e-3, atol: 2e-3);
    }
}

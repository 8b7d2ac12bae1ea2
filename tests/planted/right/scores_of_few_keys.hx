kernel weights(q: f16[m, 16], k: f16[n, 16], y: mut f32[m, n])
    where m <= 16, n <= 32
    grid [1]
    threads 32
{
    let x = register_tensor(f32, [16, 32]);
    fill(x, 0.0);
    gemm(x, load(tile(q, [16, 16])[.., .., 0, 0]), load(tile(k, [32, 16])[.., .., 0, 0]));
    x = where(index(x, 1) < n, x, -inf);
    let e = exp(x - max(x, axis: 1));
    copy(e / sum(e, axis: 1), tile(y, [16, 32])[.., .., 0, 0]);
}

test "weights" {
    let (q, k) = (randn(f16, [9, 16], seed: 1), randn(f16, [20, 16], seed: 2));
    let y = empty(f32, [9, 20]);
    weights(q, k, y);
    assert_close(y, softmax(q @ k.T, axis: 1), rtol: 1e-2, atol: 1e-3);
}

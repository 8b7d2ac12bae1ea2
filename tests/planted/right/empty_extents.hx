// Tensors without rows, without columns and without a depth: nothing is copied, sums and products are 0.
kernel rows(x: f32[m, n], y: mut f32[m, n])
    grid [m]
    threads 32
{
    copy(load(tile(x, [1, 32])[.., .., block_idx, 0]), tile(y, [1, 32])[.., .., block_idx, 0]);
}

kernel sums(x: f32[m, n], y: mut f32[m])
    grid [cdiv(m, 16)]
    threads 32
{
    let acc = register_tensor(f32, [16, 1]);
    fill(acc, 0.0);
    for j in 0..cdiv(n, 32) {
        acc = acc + sum(load(tile(x, [16, 32])[.., .., block_idx, j]), axis: 1);
    }
    copy(acc[.., 0], tile(y, [16])[.., block_idx]);
}

kernel product(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    grid [cdiv(m, 32), cdiv(n, 32)]
    threads 64
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [32, 32]);
    fill(acc, 0.0);
    for i in 0..cdiv(k, 32) {
        gemm(acc, load(tile(a, [32, 32])[.., .., bm, i]), load(tile(b, [32, 32])[.., .., bn, i]));
    }
    copy(acc, tile(c, [32, 32])[.., .., bm, bn]);
}

test "rows and sums" for (m, n) in [(5, 0), (0, 5), (0, 0), (17, 0)] {
    let x = randn(f32, [m, n], seed: 1);
    let [y, s] = [empty(f32, [m, n]), empty(f32, [m])];
    rows(x, y);
    assert_eq(y, x);
    sums(x, s);
    assert_eq(s, zeros(f32, [m]));
}

test "product" for (m, n, k) in [(33, 20, 0), (0, 32, 32), (32, 0, 8)] {
    let [a, b] = [randn(f16, [m, k], seed: 1), randn(f16, [n, k], seed: 2)];
    let c = empty(f32, [m, n]);
    product(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-3, atol: 1e-3);
}

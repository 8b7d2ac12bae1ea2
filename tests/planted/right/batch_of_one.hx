// A product with a batch of one, of tiles that no instruction fills.
kernel product(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    grid [1]
    threads 32
{
    let acc = register_tensor(f32, [16, 16, 1]);
    fill(acc, 0.0);
    gemm(
        acc,
        load(tile(a, [16, 16])[.., .., 0, 0])[.., .., new],
        load(tile(b, [16, 16])[.., .., 0, 0])[.., .., new],
    );
    copy(acc[.., .., 0], tile(c, [16, 16])[.., .., 0, 0]);
}

test "product" for (m, n, k) in [(16, 16, 16), (5, 3, 1)] {
    let a = randn(f16, [m, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f32, [m, n]);
    product(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-3, atol: 1e-3);
}

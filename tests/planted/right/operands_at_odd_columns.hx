// Operands of a product begin at odd elements of shared memory, in a loop.
kernel product(a: f16[32, 80], b: f16[24, 80], c: mut f32[32, 24])
    grid [1]
    threads 64
{
    let sa = shared_tensor(f16, [32, 80]);
    let sb = shared_tensor(f16, [24, 80]);
    copy(a, sa);
    copy(b, sb);
    sync();
    let acc = register_tensor(f32, [32, 24]);
    fill(acc, 0.0);
    for i in 0..4 {
        gemm(acc, sa[.., i * 21..i * 21 + 16], sb[.., i * 16 + 3..i * 16 + 19]);
    }
    copy(acc, c);
}

test "product" {
    let a = randn(f16, [32, 80], seed: 1);
    let b = randn(f16, [24, 80], seed: 2);
    let c = empty(f32, [32, 24]);
    product(a, b, c);
    let want = zeros(f64, [32, 24]);
    for i in 0..4 {
        want = want + a[.., i * 21..i * 21 + 16] @ b[.., i * 16 + 3..i * 16 + 19].T;
    }
    assert_close(c, want, rtol: 1e-4, atol: 1e-4);
}

// planted: HX0420 in check
// The accumulator is never filled.
kernel product(a: f16[32, 32], b: f16[32, 32], c: mut f32[32, 32])
    grid [1]
    threads 32
{
    let acc = register_tensor(f32, [32, 32]);
    gemm(acc, load(a), load(b));
    copy(acc, c);
}

test "product" {
    let a = randn(f16, [32, 32], seed: 1);
    let b = randn(f16, [32, 32], seed: 2);
    let c = empty(f32, [32, 32]);
    product(a, b, c);
}

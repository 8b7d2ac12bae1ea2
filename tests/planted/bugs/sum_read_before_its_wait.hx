// planted: HX0406 in check
// The sum is stored while the product may still add to it.
kernel product(a: bf16[64, 64], b: bf16[64, 64], c: mut f32[64, 64])
    grid [1]
    threads 128
{
    let (sa, sb) = (shared_tensor(bf16, [64, 64]), shared_tensor(bf16, [64, 64]));
    let acc = register_tensor(f32, [64, 64]);
    copy_async(a, sa);
    copy_async(b, sb);
    commit();
    wait(0);
    sync();
    fill(acc, 0.0);
    gemm_async(acc, sa, sb);
    copy(acc, c);
    gemm_wait(0);
}

test "product" {
    let c = empty(f32, [64, 64]);
    product(randn(bf16, [64, 64], seed: 1), randn(bf16, [64, 64], seed: 2), c);
}

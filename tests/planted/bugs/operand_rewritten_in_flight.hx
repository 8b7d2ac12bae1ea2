// planted: HX0406 in check
// The weights are scaled for the next product while the one before still reads them.
kernel product(a: bf16[64, 64], b: bf16[64, 64], c: mut f32[64, 64])
    grid [1]
    threads 128
{
    let sb = shared_tensor(bf16, [64, 64]);
    let p = register_tensor(bf16, [64, 64]);
    let acc = register_tensor(f32, [64, 64]);
    copy_async(b, sb);
    commit();
    wait(0);
    sync();
    copy(a, p);
    fill(acc, 0.0);
    for _i in 0..2 {
        gemm_async(acc, p, sb);
        p = cast(p * 2.0, bf16);
        gemm_wait(0);
    }
    copy(acc, c);
}

test "product" {
    let c = empty(f32, [64, 64]);
    product(randn(bf16, [64, 64], seed: 1), randn(bf16, [64, 64], seed: 2), c);
}

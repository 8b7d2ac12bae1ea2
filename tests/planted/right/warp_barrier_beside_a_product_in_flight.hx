// A block of one warp needs no more than the barrier of a warp, also where a product is in flight elsewhere.
kernel chained(x: f16[32, 16], a: f16[16, 32], b: f16[16, 32], y: mut f32[16, 32])
    grid [1]
    threads 32
{
    let v = load(x);
    let (sa, sb) = (shared_tensor(f16, [16, 32]), shared_tensor(f16, [16, 32]));
    let first = register_tensor(f32, [16, 16]);
    fill(first, 0.0);
    copy_async(a, sa);
    copy_async(b, sb);
    commit();
    wait(0);
    sync_warp();
    gemm_async(first, sa, sb);
    gemm_wait(0);
    let sx = shared_tensor(f16, [32, 16]);
    copy(v, sx);
    sync_warp();
    let second = register_tensor(f32, [16, 32]);
    fill(second, 0.0);
    gemm(second, cast(first, f16), sx);
    copy(second, y);
}

test "chained" {
    let (x, a, b) = (full(f16, [32, 16], 1.0), full(f16, [16, 32], 1.0), full(f16, [16, 32], 2.0));
    let y = empty(f32, [16, 32]);
    chained(x, a, b, y);
    assert_eq(y, full(f32, [16, 32], 1024.0));
}

//! Copies and products whose instruction the source names.

kernel narrow(x: f32[n], y: mut f32[n])
    grid [cdiv(n, 1024)]
    threads 128
{
    let t = load(tile(x, [1024])[.., block_idx], by: "ld.global.v2.b32");
    copy(t * 2.0, tile(y, [1024])[.., block_idx], by: "st.global.v2.b32");
}

kernel staged(x: f16[m, 64], y: mut f16[m, 64])
    grid [cdiv(m, 64)]
    threads 128
{
    let s = shared_tensor(f16, [64, 64]);
    copy_async(tile(x, [64, 64])[.., .., block_idx, 0], s, by: "cp.async.ca.8");
    commit();
    wait(0);
    sync();
    copy(load(s, by: "ld.shared.v2"), tile(y, [64, 64])[.., .., block_idx, 0]);
}

kernel product(a: f16[64, k], b: f16[64, k], c: mut f32[64, 64])
    where k % 64 == 0
    grid [1]
    threads 128
{
    let (sa, sb) = (shared_tensor(f16, [64, 64]), shared_tensor(f16, [64, 64]));
    let acc = register_tensor(f32, [64, 64]);
    fill(acc, 0.0);
    for i in 0..k / 64 {
        copy(tile(a, [64, 64])[.., .., 0, i], sa);
        copy(tile(b, [64, 64])[.., .., 0, i], sb);
        sync();
        gemm(acc, sa, sb, by: "mma");
        sync();
    }
    copy(acc, c);
}

test "narrow" for n in [1024, 3000, 18] {
    let (x, y) = (randn(f32, [n], seed: 1), empty(f32, [n]));
    narrow(x, y);
    assert_eq(y, x * 2.0);
    assert(uses("ld.global.v2.b32") && uses("st.global.v2.b32"));
}

test "staged" for m in [64, 100] {
    let (x, y) = (randn(f16, [m, 64], seed: 2), empty(f16, [m, 64]));
    staged(x, y);
    assert_eq(y, x);
    assert(uses("cp.async.ca.8") && uses("ld.shared.v2.b32"));
}

test "product" {
    let a = cast(floor(randn(f32, [64, 128], seed: 3) * 2.0), f16);
    let b = cast(floor(randn(f32, [64, 128], seed: 4) * 2.0), f16);
    let c = empty(f32, [64, 64]);
    product(a, b, c);
    assert_eq(c, a @ b.T);
    assert(!uses("wgmma"));
}

// The products keep their instruction where the loop makes their loads ahead, and the load that names one is not made ahead.
kernel ahead(a: f16[128, k], b: f16[128, k], c: mut f32[128, 128])
    where k % 32 == 0
    grid [1]
    threads 128
{
    let acc = register_tensor(f32, [128, 128]);
    fill(acc, 0.0);
    for i in 0..k / 32 pipelined(3) {
        let ta = load(tile(a, [128, 32])[.., .., 0, i]);
        #[accept("redistribution", "the load keeps its instruction")]
        let tb = load(tile(b, [128, 32])[.., .., 0, i], by: "ld.global.v2");
        gemm(acc, ta, tb, by: "mma.m16n8k8");
    }
    copy(acc, c);
}

test "ahead" {
    let a = cast(floor(randn(f32, [128, 160], seed: 5) * 2.0), f16);
    let b = cast(floor(randn(f32, [128, 160], seed: 6) * 2.0), f16);
    let c = empty(f32, [128, 128]);
    ahead(a, b, c);
    assert_eq(c, a @ b.T);
    assert(uses("mma.m16n8k8") && uses("ld.global.v2.b32") && !uses("wgmma") && !uses("mma.m16n8k16"));
}

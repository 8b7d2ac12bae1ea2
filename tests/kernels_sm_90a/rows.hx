//! Every row of the catalogue that begins with `sm_90`, once: products of warp groups with A from shared memory and from registers,
//! the forms of operands in shared memory, stores of matrices, and copies in boxes of each rank.

/// c[M, N] = a[M, K] · b[N, K]ᵀ, where the operands lie or, if `HELD`, with A in registers. Two products, so that one of them adds.
kernel product<M = 64, N = 64, K = 64, HELD = false, T: type = f16, U: type = f16, C: type = f32>(
    a: T[M, K],
    b: U[N, K],
    c: mut C[M, N],
)
    grid [1]
    threads 128
{
    let (sa, sb) = (shared_tensor(T, [M, K]), shared_tensor(U, [N, K]));
    copy_async(a, sa);
    copy_async(b, sb);
    commit();
    wait(0);
    sync();
    let acc = register_tensor(C, [M, N]);
    fill(acc, 0);
    for _ in 0..2 {
        if HELD {
            gemm(acc, load(sa), sb);
        } else {
            gemm(acc, sa, sb);
        }
    }
    copy(acc, c);
}

test "f16" for (n, k, row, at_a, at_b) in [
    (8, 16, "wgmma.m64n8k16.f32.f16", "a.k.32B", "b.k.32B"),
    (24, 32, "wgmma.m64n24k16.f32.f16", "a.k.64B", "b.k.64B"),
    (64, 64, "wgmma.m64n64k16.f32.f16", "a.k.128B", "b.k.128B"),
    (128, 64, "wgmma.m64n128k16.f32.f16", "a.k.128B", "b.k.128B"),
    (256, 32, "wgmma.m64n256k16.f32.f16", "a.k.64B", "b.k.64B"),
] {
    let a = randn(f16, [64, k], seed: 1);
    let b = randn(f16, [n, k], seed: 2);
    let c = empty(f32, [64, n]);
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 1e-5, atol: 1e-4);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 1e-5, atol: 1e-4);
}

test "bf16" for (n, k, row, at_a, at_b) in [
    (8, 32, "wgmma.m64n8k16.f32.bf16", "a.k.64B", "b.k.64B"),
    (176, 16, "wgmma.m64n176k16.f32.bf16", "a.k.32B", "b.k.32B"),
] {
    let a = randn(bf16, [64, k], seed: 1);
    let b = randn(bf16, [n, k], seed: 2);
    let c = empty(f32, [64, n]);
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 1e-5, atol: 1e-4);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 1e-5, atol: 1e-4);
}

test "tf32" for (n, k, row, at_a, at_b) in [
    (24, 8, "wgmma.m64n24k8.f32.tf32", "a.k.32B", "b.k.32B"),
    (256, 16, "wgmma.m64n256k8.f32.tf32", "a.k.64B", "b.k.64B"),
] {
    let a = cast(randn(f32, [64, k], seed: 1), tf32);
    let b = cast(randn(f32, [n, k], seed: 2), tf32);
    let c = empty(f32, [64, n]);
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 1e-5, atol: 1e-4);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 1e-5, atol: 1e-4);
}

test "f8e4m3" for (n, k, row, at_a, at_b) in [
    (16, 128, "wgmma.m64n16k32.f32.f8e4m3", "a.k.128B", "b.k.128B"),
    (256, 64, "wgmma.m64n256k32.f32.f8e4m3", "a.k.64B", "b.k.64B"),
] {
    let a = randn(f8e4m3, [64, k], seed: 1);
    let b = randn(f8e4m3, [n, k], seed: 2);
    let c = empty(f32, [64, n]);
    // The hardware keeps about 14 bits of a sum of 8-bit floats.
    let error = max(abs(a) @ abs(b).T) / 512.0;
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 0.0, atol: error);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 0.0, atol: error);
}

test "f8e4m3.f8e5m2" for (n, k, row, at_a, at_b) in [
    (8, 64, "wgmma.m64n8k32.f32.f8e4m3.f8e5m2", "a.k.64B", "b.k.64B"),
    (96, 128, "wgmma.m64n96k32.f32.f8e4m3.f8e5m2", "a.k.128B", "b.k.128B"),
] {
    let a = randn(f8e4m3, [64, k], seed: 1);
    let b = randn(f8e5m2, [n, k], seed: 2);
    let c = empty(f32, [64, n]);
    // The hardware keeps about 14 bits of a sum of 8-bit floats.
    let error = max(abs(a) @ abs(b).T) / 512.0;
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 0.0, atol: error);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 0.0, atol: error);
}

test "f8e5m2.f8e4m3" for (n, k, row, at_a, at_b) in [
    (40, 128, "wgmma.m64n40k32.f32.f8e5m2.f8e4m3", "a.k.128B", "b.k.128B"),
    (128, 32, "wgmma.m64n128k32.f32.f8e5m2.f8e4m3", "a.k.32B", "b.k.32B"),
] {
    let a = randn(f8e5m2, [64, k], seed: 1);
    let b = randn(f8e4m3, [n, k], seed: 2);
    let c = empty(f32, [64, n]);
    // The hardware keeps about 14 bits of a sum of 8-bit floats.
    let error = max(abs(a) @ abs(b).T) / 512.0;
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 0.0, atol: error);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 0.0, atol: error);
}

test "f8e5m2" for (n, k, row, at_a, at_b) in [
    (24, 32, "wgmma.m64n24k32.f32.f8e5m2", "a.k.32B", "b.k.32B"),
    (200, 32, "wgmma.m64n200k32.f32.f8e5m2", "a.k.32B", "b.k.32B"),
] {
    let a = randn(f8e5m2, [64, k], seed: 1);
    let b = randn(f8e5m2, [n, k], seed: 2);
    let c = empty(f32, [64, n]);
    // The hardware keeps about 14 bits of a sum of 8-bit floats.
    let error = max(abs(a) @ abs(b).T) / 512.0;
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 0.0, atol: error);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_close(c, (a @ b.T) * 2.0, rtol: 0.0, atol: error);
}

test "i8" for (n, k, row, at_a, at_b) in [
    (8, 64, "wgmma.m64n8k32.i32.i8", "a.k.64B", "b.k.64B"),
    (256, 64, "wgmma.m64n256k32.i32.i8", "a.k.64B", "b.k.64B"),
] {
    let a = uniform(i8, [64, k], low: -128, high: 128, seed: 1);
    let b = uniform(i8, [n, k], low: -128, high: 128, seed: 2);
    let c = empty(i32, [64, n]);
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_eq(c, (a @ b.T) * 2);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_eq(c, (a @ b.T) * 2);
}

test "i8.u8" for (n, k, row, at_a, at_b) in [
    (24, 32, "wgmma.m64n24k32.i32.i8.u8", "a.k.32B", "b.k.32B"),
    (64, 64, "wgmma.m64n64k32.i32.i8.u8", "a.k.64B", "b.k.64B"),
] {
    let a = uniform(i8, [64, k], low: -128, high: 128, seed: 1);
    let b = uniform(u8, [n, k], low: 0, high: 256, seed: 2);
    let c = empty(i32, [64, n]);
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_eq(c, (a @ b.T) * 2);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_eq(c, (a @ b.T) * 2);
}

test "u8.i8" for (n, k, row, at_a, at_b) in [
    (16, 128, "wgmma.m64n16k32.i32.u8.i8", "a.k.128B", "b.k.128B"),
    (176, 32, "wgmma.m64n176k32.i32.u8.i8", "a.k.32B", "b.k.32B"),
] {
    let a = uniform(u8, [64, k], low: 0, high: 256, seed: 1);
    let b = uniform(i8, [n, k], low: -128, high: 128, seed: 2);
    let c = empty(i32, [64, n]);
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_eq(c, (a @ b.T) * 2);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_eq(c, (a @ b.T) * 2);
}

test "u8" for (n, k, row, at_a, at_b) in [
    (32, 64, "wgmma.m64n32k32.i32.u8", "a.k.64B", "b.k.64B"),
    (128, 32, "wgmma.m64n128k32.i32.u8", "a.k.32B", "b.k.32B"),
] {
    let a = uniform(u8, [64, k], low: 0, high: 256, seed: 1);
    let b = uniform(u8, [n, k], low: 0, high: 256, seed: 2);
    let c = empty(i32, [64, n]);
    product(a, b, c);
    assert(uses(row) && uses(at_a) && uses(at_b));
    assert_eq(c, (a @ b.T) * 2);
    product<HELD = true>(a, b, c);
    assert(uses(row) && !uses("a.k") && uses(at_b));
    assert_eq(c, (a @ b.T) * 2);
}

/// c[M, N] = a[M, K] · b[N, K]ᵀ from shared tensors of these layouts.
kernel formed<BITS = 3, L: layout = (64, 64) : (64, 1), T: type = f16>(
    a: T[64, 64],
    b: T[64, 64],
    c: mut f32[64, 64],
)
    grid [1]
    threads 128
{
    let sa = shared_tensor(T, [64, 64], layout: swizzle<BITS, 3, 3> ∘ L);
    let sb = shared_tensor(T, [64, 64], layout: swizzle<BITS, 3, 3> ∘ L);
    copy(a, sa);
    copy(b, sb);
    sync();
    let acc = register_tensor(f32, [64, 64]);
    fill(acc, 0.0);
    gemm(acc, sa, sb);
    copy(acc, c);
}

test "forms" for (at_a, at_b, bits, l) in [
    ("a.k.128B", "b.k.128B", 3, (64, 64) : (64, 1)),
    ("a.k.64B", "b.k.64B", 2, (64, (32, 2)) : (32, (1, 2048))),
    ("a.k.32B", "b.k.32B", 1, (64, (16, 4)) : (16, (1, 1024))),
    ("a.k.16B", "b.k.16B", 0, (64, (8, 8)) : (8, (1, 512))),
    ("a.mn.128B", "b.mn.128B", 3, (64, 64) : (1, 64)),
    ("a.mn.64B", "b.mn.64B", 2, ((32, 2), 64) : ((1, 2048), 32)),
    ("a.mn.32B", "b.mn.32B", 1, ((16, 4), 64) : ((1, 1024), 16)),
    ("a.mn.16B", "b.mn.16B", 0, ((8, 8), 64) : ((1, 512), 8)),
] {
    let (a, b, c) = (randn(f16, [64, 64], seed: 3), randn(f16, [64, 64], seed: 4), empty(f32, [64, 64]));
    formed<BITS = bits, L = l>(a, b, c);
    assert(uses("wgmma") && uses(at_a) && uses(at_b));
    assert_close(c, a @ b.T, rtol: 1e-5, atol: 1e-4);
    let (d, e) = (cast(a, bf16), cast(b, bf16));
    formed<BITS = bits, L = l>(d, e, c);
    assert(uses("wgmma") && uses(at_a) && uses(at_b));
    assert_close(c, d @ e.T, rtol: 1e-5, atol: 1e-4);
}

/// c[M, N] = a[K, M]ᵀ · b[K, N], from shared tensors whose layout is inferred.
kernel turned<M = 128, N = 64, K = 32, HELD = false, T: type = f16>(a: T[K, M], b: T[K, N], c: mut f32[M, N])
    grid [1]
    threads 2 * 128
{
    let (sa, sb) = (shared_tensor(T, [K, M]), shared_tensor(T, [K, N]));
    copy_async(a, sa);
    copy_async(b, sb);
    commit();
    wait(0);
    sync();
    let acc = register_tensor(f32, [M, N]);
    fill(acc, 0.0);
    if HELD {
        gemm(acc, load(sa.T), sb.T);
    } else {
        gemm(acc, sa.T, sb.T);
    }
    copy(acc, c);
}

test "operands along their rows and columns" for (n, at_b) in [
    (8, "b.mn.16B"),
    (16, "b.mn.32B"),
    (24, "b.mn.16B"),
    (32, "b.mn.64B"),
    (64, "b.mn.128B"),
    (256, "b.mn.128B"),
] {
    let (a, b, c) = (randn(bf16, [32, 128], seed: 5), randn(bf16, [32, n], seed: 6), empty(f32, [128, n]));
    turned(a, b, c);
    assert(uses("wgmma") && uses("a.mn.128B") && uses(at_b));
    assert_close(c, a.T @ b, rtol: 1e-5, atol: 1e-4);
    turned<HELD = true>(a, b, c);
    assert(uses("wgmma") && !uses("a.mn") && uses(at_b) && uses("ldmatrix.x4.trans"));
    assert_close(c, a.T @ b, rtol: 1e-5, atol: 1e-4);
}

/// Copies matrices of eight rows through shared memory: one warp stores registers of the layout `R` into memory of the layout `S`.
kernel stored<
    M = 8,
    N = 8,
    T: type = f16,
    R: layout = ((4, 8), 2) : ((16, 1), 8),
    S: layout = (8, 8) : (8, 1),
>(x: T[M, N], y: mut T[M, N])
    grid [1]
    threads 32
{
    let r = register_tensor(T, [M, N], layout: R);
    let s = shared_tensor(T, [M, N], layout: S);
    copy(x, r);
    copy(r, s);
    sync();
    copy(load(s), y);
}

test "stores of matrices" for (m, n, row, r, s) in [
    (8, 8, "stmatrix.x1", ((4, 8), 2) : ((16, 1), 8), (8, 8) : (8, 1)),
    (16, 8, "stmatrix.x2", ((4, 8), (2, 2)) : ((32, 1), (16, 8)), (16, 8) : (8, 1)),
    (16, 16, "stmatrix.x4", ((4, 8), (2, 2, 2)) : ((32, 1), (16, 8, 128)), (16, (8, 2)) : (8, (1, 128))),
    (8, 8, "stmatrix.x1.trans", ((4, 8), 2) : ((16, 1), 8), (8, 8) : (1, 8)),
    (16, 8, "stmatrix.x2.trans", ((4, 8), (2, 2)) : ((32, 1), (16, 8)), ((8, 2), 8) : ((1, 64), 8)),
    (
        16,
        16,
        "stmatrix.x4.trans",
        ((4, 8), (2, 2, 2)) : ((32, 1), (16, 8, 128)),
        ((8, 2), 16) : ((1, 128), 8),
    ),
] {
    let (x, y) = (randn(f16, [m, n], seed: 7), empty(f16, [m, n]));
    stored<R = r, S = s>(x, y);
    assert(uses(row) && !uses("st.shared"));
    assert_eq(y, x);
    let (v, w) = (cast(x, bf16), empty(bf16, [m, n]));
    stored<R = r, S = s>(v, w);
    assert(uses(row) && !uses("st.shared"));
    assert_eq(w, v);
}

/// Copies tiles by way of shared memory, in boxes both ways.
kernel boxes_1(x: f32[a], y: mut f32[a])
    grid [cdiv(a, 64)]
    threads 32
{
    let at = block_idx;
    let (s, pipe) = (shared_tensor(f32, [64, 1]), pipeline(1));
    let i = pipe.acquire();
    copy_async(tile(x, [64])[.., at], s[.., i], signal: pipe);
    let i = pipe.wait();
    copy_async(s[.., i], tile(y, [64])[.., at]);
    wait_stores(0);
    pipe.release();
}

kernel boxes_2(x: f32[a, b], y: mut f32[a, b])
    grid [cdiv(a, 8), cdiv(b, 16)]
    threads 32
{
    let [ba, bb] = block_idx;
    let (s, pipe) = (shared_tensor(f32, [8, 16, 1]), pipeline(1));
    let i = pipe.acquire();
    copy_async(tile(x, [8, 16])[.., .., ba, bb], s[.., .., i], signal: pipe);
    let i = pipe.wait();
    copy_async(s[.., .., i], tile(y, [8, 16])[.., .., ba, bb]);
    wait_stores(0);
    pipe.release();
}

kernel boxes_3(x: f32[a, b, c], y: mut f32[a, b, c])
    grid [cdiv(a, 4), cdiv(b, 4), cdiv(c, 16)]
    threads 32
{
    let [ba, bb, bc] = block_idx;
    let (s, pipe) = (shared_tensor(f32, [4, 4, 16, 1]), pipeline(1));
    let i = pipe.acquire();
    copy_async(tile(x, [4, 4, 16])[.., .., .., ba, bb, bc], s[.., .., .., i], signal: pipe);
    let i = pipe.wait();
    copy_async(s[.., .., .., i], tile(y, [4, 4, 16])[.., .., .., ba, bb, bc]);
    wait_stores(0);
    pipe.release();
}

kernel boxes_4(x: f32[a, b, c, d], y: mut f32[a, b, c, d])
    grid [cdiv(a, 2) * cdiv(b, 3), cdiv(c, 4), cdiv(d, 8)]
    threads 32
{
    let [first, bc, bd] = block_idx;
    let (s, pipe) = (shared_tensor(f32, [2, 3, 4, 8, 1]), pipeline(1));
    let i = pipe.acquire();
    copy_async(
        tile(x, [2, 3, 4, 8])[.., .., .., .., first / cdiv(b, 3), first % cdiv(b, 3), bc, bd],
        s[.., .., .., .., i],
        signal: pipe,
    );
    let i = pipe.wait();
    copy_async(
        s[.., .., .., .., i],
        tile(y, [2, 3, 4, 8])[.., .., .., .., first / cdiv(b, 3), first % cdiv(b, 3), bc, bd],
    );
    wait_stores(0);
    pipe.release();
}

kernel boxes_5(x: f32[a, b, c, d, e], y: mut f32[a, b, c, d, e])
    grid [cdiv(a, 2) * cdiv(b, 2) * cdiv(c, 3), cdiv(d, 4), cdiv(e, 8)]
    threads 32
{
    let [first, bd, be] = block_idx;
    let (s, pipe) = (shared_tensor(f32, [2, 2, 3, 4, 8, 1]), pipeline(1));
    let i = pipe.acquire();
    copy_async(
        tile(x, [2, 2, 3, 4, 8])[
            ..,
            ..,
            ..,
            ..,
            ..,
            first / cdiv(c, 3) / cdiv(b, 2),
            first / cdiv(c, 3) % cdiv(b, 2),
            first % cdiv(c, 3),
            bd,
            be,
        ],
        s[.., .., .., .., .., i],
        signal: pipe,
    );
    let i = pipe.wait();
    copy_async(
        s[.., .., .., .., .., i],
        tile(y, [2, 2, 3, 4, 8])[
            ..,
            ..,
            ..,
            ..,
            ..,
            first / cdiv(c, 3) / cdiv(b, 2),
            first / cdiv(c, 3) % cdiv(b, 2),
            first % cdiv(c, 3),
            bd,
            be,
        ],
    );
    wait_stores(0);
    pipe.release();
}

test "boxes" {
    let (x, y) = (randn(f32, [200], seed: 8), empty(f32, [200]));
    boxes_1(x, y);
    assert(uses("cp.async.bulk.tensor.1d.shared::cluster") && uses("cp.async.bulk.tensor.1d.global"));
    assert_eq(y, x);
    let (x, y) = (randn(f32, [20, 44], seed: 9), empty(f32, [20, 44]));
    boxes_2(x, y);
    assert(uses("cp.async.bulk.tensor.2d.shared::cluster") && uses("cp.async.bulk.tensor.2d.global"));
    assert_eq(y, x);
    let (x, y) = (randn(f32, [7, 9, 36], seed: 10), empty(f32, [7, 9, 36]));
    boxes_3(x, y);
    assert(uses("cp.async.bulk.tensor.3d.shared::cluster") && uses("cp.async.bulk.tensor.3d.global"));
    assert_eq(y, x);
    let (x, y) = (randn(f32, [3, 7, 6, 20], seed: 11), empty(f32, [3, 7, 6, 20]));
    boxes_4(x, y);
    assert(uses("cp.async.bulk.tensor.4d.shared::cluster") && uses("cp.async.bulk.tensor.4d.global"));
    assert_eq(y, x);
    let (x, y) = (randn(f32, [3, 2, 4, 9, 12], seed: 12), empty(f32, [3, 2, 4, 9, 12]));
    boxes_5(x, y);
    assert(uses("cp.async.bulk.tensor.5d.shared::cluster") && uses("cp.async.bulk.tensor.5d.global"));
    assert_eq(y, x);
}

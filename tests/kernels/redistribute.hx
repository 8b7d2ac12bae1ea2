//! Values that change hands between threads where layouts cannot agree.

/// d = (a · bᵀ) · eᵀ with a different arrangement of warps for each product: what the first leaves in registers moves.
kernel chained<M = 64, N = 64, K = 32, P = 64>(a: f16[M, K], b: f16[N, K], e: f16[P, N], d: mut f16[M, P])
    grid [1]
    threads 128
{
    let s = register_tensor(f32, [M, N]);
    fill(s, 0.0);
    gemm(s, load(a), load(b), warps: [2, 2]);
    let t = register_tensor(f32, [M, P]);
    fill(t, 0.0);
    gemm(t, cast(s, f16), load(e), warps: [4, 1]);
    copy(cast(t, f16), d);
}

test "two products with different arrangements of warps" {
    let a = randn(f16, [64, 32], seed: 1);
    let b = randn(f16, [64, 32], seed: 2);
    let e = randn(f16, [64, 64], seed: 3);
    let d = empty(f16, [64, 64]);
    chained(a, b, e, d);
    assert(conflicts() == 0);
    assert_close(d, cast(a @ b.T, f16) @ e.T, rtol: 1e-2, atol: 5e-2);
}

/// An accumulator is assigned what another layout holds, in a loop.
kernel assigned(a: f16[64, 64], b: f16[64, 64], x: f32[64, 64], c: mut f32[64, 64])
    grid [1]
    threads 128
{
    let acc = register_tensor(f32, [64, 64], layout: (128, 32) : (1, 128));
    fill(acc, 0.0);
    for _i in 0..3 {
        let s = register_tensor(f32, [64, 64]);
        fill(s, 0.0);
        gemm(s, load(a), load(b));
        acc = acc + s;
    }
    copy(acc + load(x), c);
}

test "a pinned tensor is assigned the result of a product" {
    let a = randn(f16, [64, 64], seed: 1);
    let b = randn(f16, [64, 64], seed: 2);
    let x = randn(f32, [64, 64], seed: 3);
    let c = empty(f32, [64, 64]);
    assigned(a, b, x, c);
    let y = cast(a, f32) @ cast(b, f32).T;
    assert_close(c, y + y + y + x, rtol: 1e-4, atol: 1e-3);
}

/// A rearrangement with a free target is worth it for wide stores, and costs nothing where it changes nothing.
kernel stored<BN = 128>(a: f16[64, 64], b: f16[BN, 64], c: mut f16[64, BN])
    grid [1]
    threads 128
{
    let s = register_tensor(f32, [64, BN]);
    fill(s, 0.0);
    gemm(s, load(a), load(b));
    let h = cast(s, f16);
    copy(rearrange(h, auto), c);
    copy(h, c);
}

test "a rearrangement with a free target" {
    let a = randn(f16, [64, 64], seed: 1);
    let b = randn(f16, [128, 64], seed: 2);
    let c = empty(f16, [64, 128]);
    stored(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-2, atol: 1e-2);
}

/// A row of the product scaled by a pinned vector that other threads hold.
kernel scaled(a: f16[64, 32], b: f16[64, 32], w: f32[64, 1], c: mut f32[64, 64])
    grid [1]
    threads 128
{
    let s = register_tensor(f32, [64, 64]);
    fill(s, 0.0);
    gemm(s, load(a), load(b));
    let v = register_tensor(f32, [64, 1], layout: ((64, 2), 1) : ((1, 0), 0));
    copy(w, v);
    copy(s * v, c);
}

test "a broadcast operand that other threads hold" {
    let a = randn(f16, [64, 32], seed: 1);
    let b = randn(f16, [64, 32], seed: 2);
    let w = randn(f32, [64, 1], seed: 3);
    let c = empty(f32, [64, 64]);
    scaled(a, b, w, c);
    assert_close(c, (cast(a, f32) @ cast(b, f32).T) * w, rtol: 1e-4, atol: 1e-3);
}

/// Two buffers of which the second is used when the first is no longer: with a barrier in between they share a place.
kernel turns(a: f16[64, 64], c: mut f16[64, 64])
    grid [1]
    threads 128
{
    let first = shared_tensor(f16, [64, 64]);
    let second = shared_tensor(f16, [64, 64]);
    copy(a, first);
    sync();
    let x = load(first.T);
    sync();
    copy(x + x, second);
    sync();
    copy(second, c);
}

test "buffers take turns where a barrier parts their uses" {
    let a = randn(f16, [64, 64], seed: 1);
    let c = empty(f16, [64, 64]);
    turns(a, c);
    assert_eq(c, a.T + a.T);
}

//! What the compiler does at the level of Ampere, construct by construct, each against a reference.

fn square(x: f32) -> f32 { x * x }

kernel gemm_any<BM = 32, BN = 32, BK = 16, T: type = f32, A: type = f32>(
    a: T[m, k],
    b: T[n, k],
    c: mut A[m, n],
)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(T, [BM, BK]);
    let sb = shared_tensor(T, [BN, BK]);
    let rc = register_tensor(A, [BM, BN]);
    fill(rc, 0.0);
    for ki in 0..cdiv(k, BK) {
        copy(tile(a, [BM, BK])[.., .., bm, ki], sa);
        copy(tile(b, [BN, BK])[.., .., bn, ki], sb);
        sync();
        gemm(rc, sa, sb);
        sync();
    }
    copy(rc, tile(c, [BM, BN])[.., .., bm, bn]);
}

kernel gemm_tf32<BM = 32, BN = 32, BK = 16>(a: f32[m, k], b: f32[n, k], c: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let rc = register_tensor(f32, [BM, BN]);
    fill(rc, 0.0);
    for ki in 0..cdiv(k, BK) {
        let ra = cast(load(tile(a, [BM, BK])[.., .., bm, ki]), tf32);
        let rb = cast(load(tile(b, [BN, BK])[.., .., bn, ki]), tf32);
        gemm(rc, ra, rb, warps: [2, 1]);
    }
    copy(rearrange(rc, auto), tile(c, [BM, BN])[.., .., bm, bn]);
}

test "f32 f64" for (m, n, k) in [(32, 32, 16), (40, 33, 20)] {
    let a = randn(f32, [m, k], seed: 1);
    let b = randn(f32, [n, k], seed: 2);
    let c = empty(f32, [m, n]);
    gemm_any<T = f32, A = f32>(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-5, atol: 1e-5);
    let d = empty(f32, [m, n]);
    gemm_tf32(a, b, d);
    assert_close(d, a @ b.T, rtol: 1e-2, atol: 2e-2);
    gemm_tf32<BK = 4>(a, b, d);
    assert_close(d, a @ b.T, rtol: 1e-2, atol: 2e-2);
    gemm_tf32<BK = 8>(a, b, d);
    assert_close(d, a @ b.T, rtol: 1e-2, atol: 2e-2);
    let x = randn(f64, [m, k], seed: 1);
    let y = randn(f64, [n, k], seed: 2);
    let z = empty(f64, [m, n]);
    gemm_any<T = f64, A = f64>(x, y, z);
    assert_close(z, x @ y.T, rtol: 1e-12, atol: 1e-12);
    let h = cast(a, bf16);
    let g = cast(b, bf16);
    let e = empty(f32, [m, n]);
    gemm_any<T = bf16, A = f32>(h, g, e);
    assert_close(e, h @ g.T, rtol: 1e-5, atol: 1e-5);
    gemm_any<T = bf16, A = f32, BK = 8>(h, g, e);
    assert_close(e, h @ g.T, rtol: 1e-5, atol: 1e-5);
    let p = cast(a, f16);
    let q = cast(b, f16);
    gemm_any<T = f16, A = f32, BK = 8>(p, q, e);
    assert_close(e, p @ q.T, rtol: 1e-5, atol: 1e-5);
}

kernel misc(x: f32[m, n], table: i32[t], y: mut f32[m, n], alpha: f32, flag: i32)
    where n <= 64, cdiv(m, 8) <= t
    grid [cdiv(m, 8)]
    threads 64
{
    let bm = block_idx;
    let e = table[bm];
    let v = load(tile(x, [8, 64])[.., .., bm, 0]);
    let w = square(v) * alpha + 1.0;
    if flag == 1 {
        w = w * 2.0;
    } else {
        w = w - 1.0;
    }
    let i = 0;
    while i < e {
        w = w + 1.0;
        i = i + 1;
    }
    let col = index(w, 1);
    let z = where(col % 2 == 0, w, -w);
    copy(z, tile(y, [8, 64])[.., .., bm, 0]);
}

test "misc" for (m, n) in [(16, 64), (13, 50)] {
    let x = randn(f32, [m, n], seed: 1);
    let table = arange(i32, [(m + 7) / 8]);
    let y = empty(f32, [m, n]);
    misc(x, table, y, 0.5, 1);
    // Rows of a block all get the number of steps that the table holds for it; odd columns change their sign.
    let steps = floor(arange(f64, [m])[.., new] / 8.0);
    let odd = arange(f64, [n]) - floor(arange(f64, [n]) / 2.0) * 2.0;
    assert_close(y, ((x * x * 0.5 + 1.0) * 2.0 + steps) * (1.0 - 2.0 * odd), rtol: 1e-6, atol: 1e-6);
    misc(x, table, y, 0.25, 0);
    assert_close(y, (x * x * 0.25 + steps) * (1.0 - 2.0 * odd), rtol: 1e-6, atol: 1e-6);
}

kernel pinned(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, 64), cdiv(n, 64)]
    threads 128
{
    let [bm, bn] = block_idx;
    let r = register_tensor(f16, [64, 64], layout: ((8, 16), (8, 4)) : ((512, 1), (64, 16)));
    let s = shared_tensor(f16, [64, 64], layout: (64, 64) : (72, 1));
    copy(tile(x, [64, 64])[.., .., bm, bn], r);
    copy(r, s);
    sync();
    let q = rearrange(load(s), ((32, 4), (2, 16)) : ((128, 1), (64, 4)));
    copy(q, tile(y, [64, 64])[.., .., bm, bn]);
}

/// From the fragment of a product to another distribution, again and again.
kernel moved(x: f16[64, 16], w: f16[64, 16], y: mut f32[64, 64])
    grid [1]
    threads 128
{
    let c = register_tensor(f32, [64, 64]);
    let total = register_tensor(f32, [64, 64], layout: ((32, 4), (2, 16)) : ((128, 1), (64, 4)));
    fill(total, 0.0);
    for _ in 0..3 {
        fill(c, 0.0);
        gemm(c, load(x), load(w));
        let d = rearrange(c, ((32, 4), (2, 16)) : ((128, 1), (64, 4)));
        total = total + d;
    }
    copy(total, y);
}

test "moved between threads" {
    let x = randn(f16, [64, 16], seed: 1);
    let w = randn(f16, [64, 16], seed: 2);
    let y = empty(f32, [64, 64]);
    moved(x, w, y);
    assert_close(y, (x @ w.T) * 3.0, rtol: 1e-5, atol: 1e-5);
}

/// The swizzle is the user's, and so is a layout that narrows every access.
kernel pinned_shared(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, 64), cdiv(n, 64)]
    threads 128
{
    let [bm, bn] = block_idx;
    let s = shared_tensor(f16, [64, 64], layout: swizzle<3, 3, 3> ∘ (64, 64) : (64, 1));
    let t = shared_tensor(f16, [64, 64], layout: (64, (8, 8)) : (8, (1, 512)));
    copy(tile(x, [64, 64])[.., .., bm, bn], s);
    sync();
    copy(s, t);
    sync();
    let u = shared_tensor(f16, [64, 64], layout: (64, 64) : (1, 66));
    copy(t, u);
    sync();
    copy(u, tile(y, [64, 64])[.., .., bm, bn]);
}

test "pinned" for (m, n) in [(64, 64), (100, 72)] {
    let x = randn(f16, [m, n], seed: 1);
    let y = empty(f16, [m, n]);
    pinned(x, y);
    assert_eq(y, x);
    let z = empty(f16, [m, n]);
    pinned_shared(x, z);
    assert_eq(z, x);
}

kernel reductions<T: type = f32>(x: T[m, n], s: mut T[m, 1], mx: mut T[1, n])
    grid [1]
    threads 128
{
    let v = load(tile(x, [32, 64])[.., .., 0, 0]);
    copy(sum(v, axis: 1), tile(s, [32, 1])[.., .., 0, 0]);
    let w = load(tile(x, [32, 64], pad: -inf)[.., .., 0, 0]);
    copy(reduce(w, 0, |a, b| max(a, b)), tile(mx, [1, 64])[.., .., 0, 0]);
}

test "reductions" for (m, n) in [(32, 64), (20, 33)] {
    let x = randn(f32, [m, n], seed: 1);
    let s = empty(f32, [m, 1]);
    let mx = empty(f32, [1, n]);
    reductions(x, s, mx);
    assert_close(s, sum(x, axis: 1, keepdims: true), rtol: 1e-5, atol: 1e-5);
    assert_eq(mx, max(x, axis: 0, keepdims: true));
    let h = cast(x, f16);
    let hs = empty(f16, [m, 1]);
    let hm = empty(f16, [1, n]);
    reductions(h, hs, hm);
    assert_close(hs, sum(h, axis: 1, keepdims: true), ulp: 16);
    assert_eq(hm, max(h, axis: 0, keepdims: true));
}

kernel strided(x: f16[m, n] : [ld, 1], y: mut f32[n, m] : [1, n])
    grid [cdiv(m, 32), cdiv(n, 32)]
    threads 64
{
    let [bm, bn] = block_idx;
    copy(cast(load(tile(x, [32, 32])[.., .., bm, bn]), f32), tile(y.T, [32, 32])[.., .., bm, bn]);
}

test "strided" {
    let big = randn(f16, [50, 96], seed: 1);
    let x = big[.., 10..50];
    let y = empty(f32, [50, 40]);
    let yt = y.T;
    strided(x, yt);
    assert_eq(y, x);
}

fn scaled(x: f32, by: f32) -> f32 { x * by }

fn is_less(x: f32, y: f32) -> bool { x < y }

/// A function of numbers, on tensors of different shapes and of another type than its result.
kernel lifted(x: f32[m, n], y: mut f32[m, n], z: mut f32[m, n])
    grid [1]
    threads 64
{
    let t = load(tile(x, [16, 32], pad: 0.0)[.., .., 0, 0]);
    let top = max(t, axis: 1);
    copy(scaled(t, top), tile(y, [16, 32])[.., .., 0, 0]);
    let low = is_less(t, top);
    copy(where(low, t, 0.0), tile(z, [16, 32])[.., .., 0, 0]);
}

test "lifted" {
    let x = randn(f32, [16, 32], seed: 1);
    let y = empty(f32, [16, 32]);
    let z = empty(f32, [16, 32]);
    lifted(x, y, z);
    let top = max(x, axis: 1, keepdims: true);
    assert_close(y, x * top, rtol: 1e-6, atol: 1e-6);
    assert_eq(z, where(x < top, x, 0.0));
}

/// Results that several threads hold: each is stored once, by one of them.
kernel replicated(x: f16[m, n], y: mut f16[m, 1])
    grid [1]
    threads 160
{
    let s = shared_tensor(f16, [80, 1]);
    copy(max(load(tile(x, [80, 32], pad: 0)[.., .., 0, 0]), axis: 1), s);
    sync();
    copy(s, tile(y, [80, 1])[.., .., 0, 0]);
}

/// The parts of a sum meet in shared memory, and each thread wants every result.
kernel summed(x: bf16[m, n], w: bf16[k, n], y: mut f32[1, k])
    grid [1]
    threads 96
{
    let total = sum(load(tile(x, [4, 4])[.., .., 0, 0]), axis: 0);
    let c = register_tensor(f32, [1, 16]);
    fill(c, 0.0);
    gemm(c, total, load(tile(w, [16, 4])[.., .., 0, 0]));
    copy(c, tile(y, [1, 16])[.., .., 0, 0]);
}

/// Unsigned numbers beside the identity of `min`, which has every bit set.
kernel least(x: u64[m, n], y: mut u64[1, m])
    grid [1]
    threads 32
{
    let s = shared_tensor(u64, [64, 12]);
    copy(tile(x, [64, 12], pad: 0)[.., .., 0, 0], s);
    sync();
    copy(min(load(s.T), axis: 0), tile(y, [1, 64])[.., .., 0, 0]);
}

test "reductions that threads share" {
    let x = randn(f16, [80, 32], seed: 1);
    let y = empty(f16, [80, 1]);
    replicated(x, y);
    assert_eq(y, max(x, axis: 1, keepdims: true));
    let a = cast(floor(uniform(f64, [4, 4], seed: 2) * 5.0), bf16);
    let w = cast(floor(uniform(f64, [16, 4], seed: 3) * 5.0), bf16);
    let c = empty(f32, [1, 16]);
    summed(a, w, c);
    assert_eq(c, sum(a, axis: 0, keepdims: true) @ w.T);
    let u = cast(floor(uniform(f64, [64, 12], seed: 4) * 9.0), u64);
    let v = empty(u64, [1, 64]);
    least(u, v);
    assert_eq(v, min(u, axis: 1, keepdims: true).T);
}

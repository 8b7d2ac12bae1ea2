//! Weights in the order that the compiler infers from the fragments that hold them.

/// y[m, n] = x[m, k] · w[n, k]ᵀ with packed weights, which are widened in registers.
#[family(weighed, weighed_wide)]
kernel weighed<BM = 16, BN = 64, BK = 128, T: type = u4, W: layout = infer>(
    x: f16[m, k],
    w: T[n, k] : W,
    y: mut f16[m, n],
)
    where k % BK == 0
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 128
{
    let [bn, bm] = block_idx;
    let sw = shared_tensor(T, [BN, BK]);
    let sx = shared_tensor(f16, [BM, BK]);
    let acc = register_tensor(f32, [BN, BM]);
    fill(acc, 0.0);
    for i in 0..k / BK {
        sync();
        copy_async(tile(w, [BN, BK])[.., .., bn, i], sw);
        copy_async(tile(x, [BM, BK])[.., .., bm, i], sx);
        commit();
        wait(0);
        sync();
        gemm(acc, cast(load(sw), f16), sx);
    }
    copy(cast(acc, f16), permute(tile(y, [BM, BN])[.., .., bm, bn], [1, 0]));
}

/// [`weighed`] with more columns in a block. Its own order would be another one.
kernel weighed_wide<BM = 64, BN = 128, BK = 128, T: type = u4, W: layout = infer>(
    x: f16[m, k],
    w: T[n, k] : W,
    y: mut f16[m, n],
)
    where k % BK == 0
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 128
{
    let [bn, bm] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for i in 0..k / BK {
        gemm(acc, load(tile(x, [BM, BK])[.., .., bm, i]), cast(load(tile(w, [BN, BK])[.., .., bn, i]), f16));
    }
    copy(cast(acc, f16), tile(y, [BM, BN])[.., .., bm, bn]);
}

/// Widens two tensors, each in an order of its own.
kernel two<BN = 64, A: layout = infer, B: layout = infer>(a: u4[n, k] : A, b: i8[n, k] : B, y: mut f16[n, k])
    where n % BN == 0, k % BN == 0
    grid [n / BN, k / BN]
    threads 64
{
    let [bn, bk] = block_idx;
    let of_a = cast(load(tile(a, [BN, BN])[.., .., bn, bk]), f16);
    let of_b = cast(load(tile(b, [BN, BN])[.., .., bn, bk]), f16);
    copy(of_a + of_b, tile(y, [BN, BN])[.., .., bn, bk]);
}

/// As [`weighed`] of weights whose type the launch decides.
kernel of_type<T: type, W: layout = infer>(w: T[n, k] : W, y: mut f32[n, k])
    where n % 64 == 0, k % 64 == 0
    grid [n / 64]
    threads 128
{
    for i in 0..k / 64 {
        copy(
            cast(load(tile(w, [64, 64])[.., .., block_idx, i]), f32),
            tile(y, [64, 64])[.., .., block_idx, i],
        );
    }
}

test "one order serves all instances and members" for (m, n, k) in [
    (16, 64, 128),
    (40, 192, 256),
    (100, 136, 384),
] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let packed = pack(w, weighed);
    assert_eq(unpack(packed, weighed), w);
    let expected = x @ w.T;
    let y = empty(f16, [m, n]);
    weighed(x, packed, y);
    assert_close(y, expected, ulp: 4);
    weighed<BN = 32>(x, packed, y);
    assert_close(y, expected, ulp: 4);
    weighed<BM = 32, BN = 128>(x, packed, y);
    assert_close(y, expected, ulp: 4);
}

test "signed weights" {
    let x = randn(f16, [16, 256], seed: 1);
    let w = uniform(i8, [64, 256], low: -128, high: 128, seed: 2);
    let y = empty(f16, [16, 64]);
    weighed<T = i8>(x, pack(w, weighed<T = i8>), y);
    assert_close(y, x @ w.T, ulp: 4);
}

test "a member of its own" for (m, n, k) in [(64, 128, 128), (70, 192, 256)] {
    let x = randn(f16, [m, k], seed: 1);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let y = empty(f16, [m, n]);
    weighed_wide(x, pack(w, weighed_wide), y);
    assert_close(y, x @ w.T, ulp: 4);
}

test "several orders" {
    let a = uniform(u4, [128, 64], low: 0, high: 16, seed: 1);
    let b = uniform(i8, [128, 64], low: -100, high: 100, seed: 2);
    let y = empty(f16, [128, 64]);
    two(pack(a, two, of: "a"), pack(b, two, of: "b"), y);
    assert_eq(y, a + b);
}

test "a type that the tensor decides" {
    let a = uniform(u2, [128, 64], low: 0, high: 4, seed: 1);
    let b = randn(f16, [64, 128], seed: 2);
    let y = empty(f32, [128, 64]);
    of_type(pack(a, of_type), y);
    assert_eq(y, a);
    let z = empty(f32, [64, 128]);
    of_type(pack(b, of_type), z);
    assert_eq(z, b);
}

/// Weights in any order of the bits of a register: each is widened 8 elements at once.
kernel ordered<T: type, W: layout>(x: f16[m, k], w: T[n, k] : W, y: mut f32[n, m])
    where k % 64 == 0
    grid [cdiv(n, 64), cdiv(m, 16)]
    threads 128
{
    let [bn, bm] = block_idx;
    let acc = register_tensor(f32, [64, 16]);
    fill(acc, 0.0);
    for i in 0..k / 64 {
        let weights = cast(load(tile(w, [64, 64])[.., .., bn, i]), f16);
        gemm(acc, weights, load(tile(x, [16, 64])[.., .., bm, i]), warps: [4, 1]);
    }
    copy(acc, tile(y, [64, 16])[.., .., bn, bm]);
}

test "every order of the bits of a register" for (n, m, k) in [(64, 16, 64), (192, 40, 128)] {
    let x = cast(uniform(i8, [m, k], low: -8, high: 8, seed: 1), f16);
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 2);
    let s = uniform(i4, [n, k], low: -8, high: 8, seed: 3);
    let f = cast(uniform(i4, [n, k], low: -6, high: 7, seed: 4), f4e2m1);
    let y = empty(f32, [n, m]);
    for (pair, row, half) in [(1, 2, 4), (1, 4, 2), (2, 1, 4), (4, 1, 2), (2, 4, 1), (4, 2, 1)] {
        let order = ((8, 2), (2, 4, 2, 4)) : ((128, row), (pair, 32, half, 8));
        ordered<W = order>(x, pack(w, order), y);
        assert_eq(y, w @ x.T);
        ordered<W = order>(x, pack(s, order), y);
        assert_eq(y, s @ x.T);
        ordered<W = order>(x, pack(f, order), y);
        assert_eq(y, f @ x.T);
    }
}

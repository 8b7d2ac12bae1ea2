// Blocks of 4-bit elements that keep the even ones of each word before the odd ones.

/// c[n, m] = w · xᵀ: the elements are widened for the matrix instruction, in the order of their memory.
kernel product<S: type, T: type, W: layout = auto>(w: S[n, k] : W, x: T[m, k], c: mut f32[n, m])
    where k % 64 == 0
    grid [cdiv(n, 64)]
    threads 64
{
    let acc = register_tensor(f32, [64, 16]);
    fill(acc, 0.0);
    let sw = shared_tensor(S, [64, 64]);
    for i in 0..k / 64 {
        copy_async(tile(w, [64, 64])[.., .., block_idx, i], sw);
        commit();
        wait(0);
        sync();
        gemm(acc, cast(load(sw), T), load(tile(x, [16, 64])[.., .., 0, i]));
        sync();
    }
    copy(acc, tile(c, [64, 16])[.., .., block_idx, 0]);
}

/// y = w, each thread what it loads.
kernel widen<S: type, T: type, W: layout = auto>(w: S[n, k] : W, y: mut T[n, k])
    grid [cdiv(n, 64), cdiv(k, 64)]
    threads 64
{
    let [i, j] = block_idx;
    copy(cast(load(tile(w, [64, 64])[.., .., i, j]), T), tile(y, [64, 64])[.., .., i, j]);
}

test "u4" for (n, m, k) in [(64, 16, 128), (128, 5, 64)] {
    let pairs = (64, (2, 4, 8)) : (64, (4, 1, 8));
    let w = uniform(u4, [n, k], low: 0, high: 16, seed: 1);
    let packed = pack(w, pairs);
    let c = empty(f32, [n, m]);
    let x = cast(uniform(i32, [m, k], low: -8, high: 9, seed: 2), f16);
    product<S = u4, T = f16, W = pairs>(packed, x, c);
    assert(uses("cvt.f16x8.u4.even_odd"));
    assert_eq(c, w @ x.T);
    let xb = cast(x, bf16);
    product<S = u4, T = bf16, W = pairs>(packed, xb, c);
    assert(uses("cvt.bf16x8.u4.even_odd"));
    assert_eq(c, w @ x.T);
    let y = empty(f32, [n, k]);
    widen<S = u4, T = f32, W = pairs>(packed, y);
    assert_eq(y, w);
}

test "i4" for (n, m, k) in [(64, 16, 128), (128, 5, 64)] {
    let pairs = (64, (2, 4, 8)) : (64, (4, 1, 8));
    let w = uniform(i4, [n, k], low: -8, high: 8, seed: 1);
    let packed = pack(w, pairs);
    let c = empty(f32, [n, m]);
    let x = cast(uniform(i32, [m, k], low: -8, high: 9, seed: 2), f16);
    product<S = i4, T = f16, W = pairs>(packed, x, c);
    assert(uses("cvt.f16x8.i4.even_odd"));
    assert_eq(c, w @ x.T);
    let xb = cast(x, bf16);
    product<S = i4, T = bf16, W = pairs>(packed, xb, c);
    assert(uses("cvt.bf16x8.i4.even_odd"));
    assert_eq(c, w @ x.T);
    let y = empty(f16, [n, k]);
    widen<S = i4, T = f16, W = pairs>(packed, y);
    assert_eq(y, w);
}

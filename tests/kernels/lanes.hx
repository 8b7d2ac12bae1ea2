//! Values that change hands between the lanes of a warp, without shared memory.

/// Each lane has neighbours, and wants every 32nd element: which register of another lane it gets depends on the lane.
kernel dealt_anew<T: type = f32>(x: T[128], y: mut T[128])
    grid [1]
    threads 32
{
    let r = register_tensor(T, [128], layout: (32, 4) : (4, 1));
    copy(x, r);
    copy(rearrange(r, (32, 4) : (1, 32)), y);
}

/// Only the lanes differ, in every warp: one exchange for each register.
kernel lanes_permuted<T: type = f32>(x: T[256, 2], y: mut T[256, 2])
    grid [1]
    threads 64
{
    let r = register_tensor(T, [256, 2], layout: (64, (4, 2)) : (4, (1, 256)));
    copy(x, r);
    copy(rearrange(r, ((4, 8, 2), (4, 2)) : ((32, 4, 128), (1, 256))), y);
}

/// Few values that many lanes hold: rows of a product, scaled by one number each.
kernel scaled_rows(a: f16[16, 32], b: f16[8, 32], w: f32[16, 1], c: mut f32[16, 8])
    grid [1]
    threads 32
{
    let s = register_tensor(f32, [16, 8]);
    fill(s, 0.0);
    gemm(s, load(a), load(b));
    let v = register_tensor(f32, [16, 1], layout: ((16, 2), 1) : ((1, 0), 0));
    copy(w, v);
    copy(s * v, c);
}

/// A product times another, transposed in between: what a warp holds of the first is what it needs for the second.
kernel transposed_between<W = 1>(a: f16[32, 64], b: f16[16 * W, 64], e: f16[16, 32], d: mut f32[16, 16 * W])
    grid [1]
    threads 32 * W
{
    let s = register_tensor(f32, [32, 16 * W]);
    fill(s, 0.0);
    gemm(s, load(a), load(b), warps: [1, W]);
    let t = register_tensor(f32, [16, 16 * W]);
    fill(t, 0.0);
    gemm(t, load(e), cast(s, f16).T, warps: [1, W]);
    copy(t, d);
}

/// Every thread has its values already, in an order that is no layout.
kernel renamed(x: f32[192], y: mut f32[192], z: mut f32[192])
    grid [1]
    threads 32
{
    let r = register_tensor(f32, [192], layout: (32, (3, 2)) : (1, (64, 32)));
    copy(x, r);
    let t = rearrange(r, (32, (2, 3)) : (1, (96, 32)));
    copy(t, y);
    copy(r + t, z);
}

test "registers in another order" {
    let x = randn(f32, [192], seed: 1);
    let y = empty(f32, [192]);
    let z = empty(f32, [192]);
    renamed(x, y, z);
    assert(!uses("shfl") && !uses("st.shared"));
    assert_eq(y, x);
    assert_eq(z, x + x);
}

test "elements dealt to the lanes of a warp anew" {
    let x = randn(f32, [128], seed: 1);
    let y = empty(f32, [128]);
    dealt_anew(x, y);
    assert(uses("shfl.idx") && !uses("st.shared"));
    assert_eq(y, x);
    let i = cast(x * 100.0, i64);
    let j = empty(i64, [128]);
    dealt_anew<T = i64>(i, j);
    assert_eq(j, i);
    // No instruction chooses between halves of a word.
    let h = cast(x, f16);
    let g = empty(f16, [128]);
    dealt_anew<T = f16>(h, g);
    assert_eq(g, h);
}

test "lanes that differ in their number only" {
    let x = randn(f32, [256, 2], seed: 1);
    let y = empty(f32, [256, 2]);
    lanes_permuted(x, y);
    assert(uses("shfl.idx") && !uses("st.shared"));
    assert_eq(y, x);
    let h = cast(x, f16);
    let g = empty(f16, [256, 2]);
    lanes_permuted<T = f16>(h, g);
    assert(uses("shfl.idx"));
    assert_eq(g, h);
    let u = cast(uniform(f32, [256, 2], seed: 2, low: 0.0, high: 255.0), u8);
    let v = empty(u8, [256, 2]);
    lanes_permuted<T = u8>(u, v);
    assert(uses("shfl.idx"));
    assert_eq(v, u);
}

test "a number for each row, from the lane that has it" {
    let a = randn(f16, [16, 32], seed: 1);
    let b = randn(f16, [8, 32], seed: 2);
    let w = randn(f32, [16, 1], seed: 3);
    let c = empty(f32, [16, 8]);
    scaled_rows(a, b, w, c);
    assert(uses("shfl.idx") && !uses("st.shared"));
    assert_close(c, (cast(a, f32) @ cast(b, f32).T) * w, rtol: 1e-4, atol: 1e-3);
}

test "a product is transposed between lanes" {
    let a = cast(randn(f32, [32, 64], seed: 1) * 0.25, f16);
    let e = cast(randn(f32, [16, 32], seed: 3) * 0.25, f16);
    let b = randn(f16, [16, 64], seed: 2);
    let d = empty(f32, [16, 16]);
    transposed_between(a, b, e, d);
    assert(uses("movmatrix"));
    assert(!uses("stmatrix") && !uses("st.shared"));
    assert_close(d, e @ cast(a @ b.T, f16), rtol: 1e-2, atol: 5e-2);
    let b = randn(f16, [64, 64], seed: 4);
    let d = empty(f32, [16, 64]);
    transposed_between<W = 4>(a, b, e, d);
    assert_close(d, e @ cast(a @ b.T, f16), rtol: 1e-2, atol: 5e-2);
}

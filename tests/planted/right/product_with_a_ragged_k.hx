// Zeros along K add nothing, also under a scale of the rows and after a mask in one operand alone.
kernel product(a: f16[m, k], b: f16[n, k], scale: f16[m], c: mut f32[m, n])
    grid [cdiv(m, 16), cdiv(n, 16)]
    threads 32
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [16, 16]);
    fill(acc, 0.0);
    let s = load(tile(scale, [16])[.., bm])[.., new];
    for ki in 0..cdiv(k, 16) {
        let ta = load(tile(a, [16, 16])[.., .., bm, ki]) * s;
        let tb = load(tile(b, [16, 16])[.., .., bn, ki]);
        let shifted = where(index(tb, 1) + ki * 16 < k, tb - 1.0, 0.0);
        gemm(acc, ta, shifted);
    }
    copy(acc, tile(c, [16, 16])[.., .., bm, bn]);
}

test "product" {
    let a = cast(uniform(i32, [20, 24], low: 0, high: 4, seed: 1), f16);
    let b = cast(uniform(i32, [18, 24], low: 0, high: 4, seed: 2), f16);
    let c = empty(f32, [20, 18]);
    product(a, b, full(f16, [20], 2.0), c);
    assert_eq(c, a @ (b - 1.0).T * 2.0);
}

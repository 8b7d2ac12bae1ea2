// planted: HX0310 in check
// Zeros along K would add nothing. Without their zero points, elements beyond the end of K are not zeros any more.
kernel product(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    grid [cdiv(m, 16), cdiv(n, 16)]
    threads 32
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [16, 16]);
    fill(acc, 0.0);
    for ki in 0..cdiv(k, 16) {
        let ta = load(tile(a, [16, 16])[.., .., bm, ki]) - 2.0;
        let tb = load(tile(b, [16, 16])[.., .., bn, ki]) - 1.0;
        gemm(acc, ta, tb);
    }
    copy(acc, tile(c, [16, 16])[.., .., bm, bn]);
}

test "product" {
    let a = cast(uniform(i32, [16, 24], low: 0, high: 4, seed: 1), f16);
    let b = cast(uniform(i32, [16, 24], low: 0, high: 4, seed: 2), f16);
    let c = empty(f32, [16, 16]);
    product(a, b, c);
    assert_eq(c, (a - 2.0) @ (b - 1.0).T);
}

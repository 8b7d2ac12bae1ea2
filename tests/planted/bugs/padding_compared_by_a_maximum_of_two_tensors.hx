// planted: HX0310 in check
// `b` is shorter than `a`. Where it ends, the maximum is that with 0.
kernel larger(a: f32[m], b: f32[n], y: mut f32[m])
    grid [cdiv(m, 64)]
    threads 64
{
    let (s, t) = (load(tile(a, [64])[.., block_idx]), load(tile(b, [64])[.., block_idx]));
    copy(max(s, t), tile(y, [64])[.., block_idx]);
}

test "larger" {
    let (a, b) = (cast(randn(f32, [100], seed: 1) - 9.0, f32), cast(randn(f32, [80], seed: 2) - 9.0, f32));
    let y = empty(f32, [100]);
    larger(a, b, y);
    assert_eq(y[80..], a[80..]);
}

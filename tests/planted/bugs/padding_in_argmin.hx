// planted: HX0310 in check
kernel least(x: f16[m, n], at: mut i32[n])
    where m <= 32
    grid [cdiv(n, 16)]
    threads 64
{
    let t = load(tile(x, [32, 16])[.., .., 0, block_idx]);
    copy(argmin(t, axis: 0)[0, ..], tile(at, [16])[.., block_idx]);
}

test "least" {
    let x = cast(abs(randn(f16, [30, 16], seed: 1)) + 1.0, f16);
    let at = empty(i32, [16]);
    least(x, at);
    assert_eq(at, argmin(x, axis: 0));
}

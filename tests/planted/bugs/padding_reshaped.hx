// planted: HX0310 in check
kernel largest(x: f32[m, n], y: mut f32[n])
    where m <= 64
    grid [cdiv(n, 16)]
    threads 64
{
    let t = load(tile(x, [64, 16])[.., .., 0, block_idx]);
    let pairs = max(reshape(t, [32, 2, 16]), axis: 1);
    copy(max(pairs, axis: 0)[0, 0, ..], tile(y, [16])[.., block_idx]);
}

test "largest" {
    let x = cast(randn(f32, [50, 20], seed: 1) - 9.0, f32);
    let y = empty(f32, [20]);
    largest(x, y);
    assert_eq(y, max(x, axis: 0));
}

// planted: HX0310 in check
kernel largest(x: f32[m, n], y: mut f32[m])
    grid [cdiv(m, 8)]
    threads 64
{
    let t = load(tile(x, [8, 64])[.., .., block_idx, 0]);
    let scaled = t * 0.125;
    copy(max(scaled, axis: 1)[.., 0], tile(y, [8])[.., block_idx]);
}

test "largest" {
    let x = cast(randn(f32, [9, 60], seed: 1) - 8.0, f32);
    let y = empty(f32, [9]);
    largest(x, y);
    assert_eq(y, max(x, axis: 1) * 0.125);
}

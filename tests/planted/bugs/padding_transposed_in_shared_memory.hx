// planted: HX0310 in check
kernel largest(x: f32[m, n], y: mut f32[m])
    where m <= 32, n <= 64
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [32, 64]);
    copy(tile(x, [32, 64])[.., .., 0, 0], s);
    sync();
    let t = load(s.T) * 2.0;
    copy(max(t, axis: 0)[0, ..], tile(y, [32])[.., 0]);
}

test "largest" {
    let x = cast(randn(f32, [30, 50], seed: 1) - 9.0, f32);
    let y = empty(f32, [30]);
    largest(x, y);
    assert_eq(y, max(x, axis: 1) * 2.0);
}

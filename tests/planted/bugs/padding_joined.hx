// planted: HX0310 in check
kernel largest(a: f32[m], b: f32[n], y: mut f32[1])
    where m <= 64, n <= 64
    grid [1]
    threads 32
{
    let first = load(tile(a, [64], pad: -inf)[.., 0]);
    let second = load(tile(b, [64])[.., 0]);
    copy(max(concat(first, second, axis: 0), axis: 0), y);
}

test "largest of both" {
    let (a, b) = (cast(randn(f32, [64], seed: 1) - 9.0, f32), cast(randn(f32, [10], seed: 2) - 9.0, f32));
    let y = empty(f32, [1]);
    largest(a, b, y);
    assert_eq(y[0], max(max(a), max(b)));
}

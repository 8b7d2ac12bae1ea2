kernel largest(a: f32[m], b: f32[n], y: mut f32[2])
    where m <= 64, n <= 64
    grid [1]
    threads 32
{
    let first = load(tile(a, [64], pad: -inf)[.., 0]);
    let t = load(tile(b, [64])[.., 0]);
    let second = where(index(t, 0) < n, t, -inf);
    let both = concat(first, second, axis: 0);
    copy(max(both, axis: 0), y[..1]);
    // One half of the joined tensor, and zeros that add nothing.
    copy(sum(concat(t, t, axis: 0)[..64], axis: 0), y[1..]);
}

test "both" {
    let (a, b) = (cast(randn(f32, [50], seed: 1) - 9.0, f32), cast(randn(f32, [10], seed: 2) - 9.0, f32));
    let y = empty(f32, [2]);
    largest(a, b, y);
    assert_eq(y[0], max(max(a), max(b)));
    assert_close(y[1], sum(b), rtol: 1e-5);
}

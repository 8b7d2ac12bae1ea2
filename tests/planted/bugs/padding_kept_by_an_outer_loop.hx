// planted: HX0310 in check
// The tile of the inner loop ends early in every round of the outer one.
kernel largest(x: f32[m, n], y: mut f32[1])
    grid [1]
    threads 64
{
    let most = register_tensor(f32, [1, 64]);
    fill(most, -inf);
    for i in 0..m {
        for j in 0..cdiv(n, 64) {
            most = max(most, load(tile(x, [1, 64])[.., .., i, j]));
        }
    }
    copy(max(most, axis: 1)[0, ..], y);
}

test "largest" {
    let x = cast(randn(f32, [3, 100], seed: 1) - 9.0, f32);
    let y = empty(f32, [1]);
    largest(x, y);
    assert_eq(y[0], max(x));
}

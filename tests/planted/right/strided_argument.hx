// Rows with gaps between them, and a slice of a larger tensor as the argument.
kernel double(x: f32[m, n] : [s, 1], y: mut f32[m, n] : [t, 1])
    grid [cdiv(m, 8), cdiv(n, 32)]
    threads 32
{
    let [i, j] = block_idx;
    copy(load(tile(x, [8, 32])[.., .., i, j]) * 2.0, tile(y, [8, 32])[.., .., i, j]);
}

test "double" {
    let x = randn(f32, [9, 50], seed: 1);
    let y = zeros(f32, [9, 60]);
    double(x[.., 3..40], y[.., 11..48]);
    assert_eq(y[.., 11..48], x[.., 3..40] * 2.0);
    assert_eq(y[.., ..11], zeros(f32, [9, 11]));
}

// planted: HX0310 in check
// The maximum is right by `pad:`, which the second load of the row lacks: exp of the zeros beyond the end is not 0.
kernel rows(x: f32[m, n], y: mut f32[m, n])
    where n <= 128
    grid [m]
    threads 32
{
    let top = max(load(tile(x, [1, 128], pad: -inf)[.., .., block_idx, 0]), axis: 1);
    let e = exp(load(tile(x, [1, 128])[.., .., block_idx, 0]) - top);
    copy(e / sum(e, axis: 1), tile(y, [1, 128])[.., .., block_idx, 0]);
}

test "softmax" {
    let x = randn(f32, [3, 100], seed: 1);
    let y = empty(f32, [3, 100]);
    rows(x, y);
    assert_close(y, softmax(x, axis: 1), rtol: 1e-5);
}

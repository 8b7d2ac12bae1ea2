// planted: HX0230 in check
// The operator squares what it combined before.
kernel norms(x: f32[m, 64], y: mut f32[m])
    grid [m]
    threads 32
{
    let row = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    let total = reduce(row, axis: 1, op: |a, b| a * a + b * b);
    copy(sqrt(total)[0, ..], tile(y, [1])[.., block_idx]);
}

test "norms" {
    let x = randn(f32, [3, 64], seed: 1);
    let y = empty(f32, [3]);
    norms(x, y);
    assert_close(y, sqrt(sum(x * x, axis: 1)), rtol: 1e-5);
}

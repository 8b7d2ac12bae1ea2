// planted: HX0310 in check
// The running sums of the row are right up to its end. The last one of the tile counts what lies beyond it.
kernel totals(x: f32[m, n], y: mut f32[m])
    where n <= 64
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    let sums = scan(exp(t), axis: 1, op: |a, b| a + b);
    copy(sums[0, 63..64], tile(y, [1])[.., block_idx]);
}

test "totals" {
    let x = randn(f32, [3, 50], seed: 1);
    let y = empty(f32, [3]);
    totals(x, y);
    assert_close(y, sum(exp(x), axis: 1), rtol: 1e-5);
}

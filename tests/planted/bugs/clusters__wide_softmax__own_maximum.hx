// planted: HX0612 in test
// Each block subtracts the maximum of its own part and not that of the row. Shows on every launch with n > 256: the terms of the
// sum are relative to different numbers, and the quotients are too.
use std::math::LOG2E;

/// y = softmax(x) for long rows that `C` blocks share. A table with one entry for each block, of which a block fills its own, is summed over the
/// cluster, so all blocks know the maxima of all parts; a second sum gives the denominator.
kernel wide_softmax<B = 256, C = 4>(x: f32[m, n], y: mut f32[m, n])
    where n <= B * C, n >= 1
    grid [C * m]
    cluster [C]
    threads 64
{
    let (rank, row) = (block_idx % C, block_idx / C);
    let v = load(tile(x[row], [B], pad: -inf)[.., rank]);
    // Finite, so that a block without elements adds a number.
    let own = max(max(v, axis: 0), -1.0e30);
    let e = exp2((v - own) * LOG2E);
    let total = sum(sum(e, axis: 0), cluster: 0);
    copy(e / total, tile(y[row], [B])[.., rank]);
}

test "softmax of long rows" for (m, n) in [(1, 1024), (3, 1000), (2, 257), (5, 7)] {
    let x = cast(randn(f32, [m, n], seed: 1) * 4.0 - 3.0, f32);
    let y = empty(f32, [m, n]);
    wide_softmax(x, y);
    assert_close(y, softmax(x, axis: 1), rtol: 1e-4, atol: 1e-7);
}

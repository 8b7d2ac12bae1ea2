// The host passes a transposed view, whose rows are columns in memory.
kernel moves(x: f32[m, n] : [s, t], y: mut f32[m, n])
    grid [cdiv(m, 16), cdiv(n, 16)]
    threads 64
{
    let [i, j] = block_idx;
    copy(load(tile(x, [16, 16])[.., .., i, j]), tile(y, [16, 16])[.., .., i, j]);
}

test "moves" {
    let x = randn(f32, [20, 40], seed: 1);
    let y = empty(f32, [40, 20]);
    moves(x.T, y);
    assert_eq(y, x.T);
}

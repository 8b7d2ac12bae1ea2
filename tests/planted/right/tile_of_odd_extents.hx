// No extent is a power of two, nor is the number of warps.
kernel moves(x: f16[m, n], y: mut f16[m, n])
    grid [cdiv(m, 7), cdiv(n, 15)]
    threads 96
{
    let [i, j] = block_idx;
    copy(load(tile(x, [7, 15])[.., .., i, j]), tile(y, [7, 15])[.., .., i, j]);
}

test "moves" for (m, n) in [(7, 15), (20, 31), (3, 100)] {
    let x = randn(f16, [m, n], seed: 1);
    let y = empty(f16, [m, n]);
    moves(x, y);
    assert_eq(y, x);
}

// Both elements of each byte come from one thread, and the tile is smaller than the block.
kernel turn(x: u4[16, 32], y: mut u4[16, 32])
    grid [1]
    threads 128
{
    copy(load(x), y);
}

test "turn" {
    let x = uniform(u4, [16, 32], low: 0, high: 16, seed: 1);
    let y = empty(u4, [16, 32]);
    turn(x, y);
    assert_eq(y, x);
}

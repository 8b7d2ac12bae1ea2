// A tile is transposed in place; the barrier stands between the last read and the first write.
kernel turn(y: mut f32[32, 32])
    grid [1]
    threads 64
{
    let a = load(y.T);
    sync();
    copy(a, y);
}

test "turn" {
    let y = randn(f32, [32, 32], seed: 1);
    let z = y.copy();
    turn(y);
    assert_eq(y, z.T);
}

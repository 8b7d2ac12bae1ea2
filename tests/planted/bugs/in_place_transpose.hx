// planted: HX0618 in test
// The tile is stored over itself, transposed, while other threads may still be reading it.
kernel turn(y: mut f32[32, 32])
    grid [1]
    threads 64
{
    let a = load(y.T);
    copy(a, y);
}

test "turn" {
    let y = randn(f32, [32, 32], seed: 1);
    let z = y.copy();
    turn(y);
    assert_eq(y, z.T);
}

// planted: HX0618 in test
// The row is stored over itself, shifted, while other threads may still be reading it.
kernel shift(y: mut f32[129])
    grid [1]
    threads 32
{
    let a = load(y[1..129]);
    copy(a, y[0..128]);
}

test "shift" {
    let y = randn(f32, [129], seed: 1);
    let z = y.copy();
    shift(y);
    assert_eq(y[0..128], z[1..129]);
}

// planted: HX0401 in check
// A tile is written to shared memory and read back transposed, with no barrier in between.
kernel turn(x: f16[64, 64], y: mut f16[64, 64])
    grid [1]
    threads 128
{
    let s = shared_tensor(f16, [64, 64]);
    copy(load(x), s);
    copy(load(s.T), y);
}

test "turn" {
    let x = randn(f16, [64, 64], seed: 1);
    let y = empty(f16, [64, 64]);
    turn(x, y);
    assert_eq(y, x.T);
}

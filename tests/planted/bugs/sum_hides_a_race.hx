// planted: HX0401 in check
// A tile is written to shared memory and read back transposed. The sum in between contains a barrier of the compiler's, so that the
// values come out right; the program has none, and the next layout may need none.
kernel turn_and_sum(x: f32[64, 64], y: mut f32[64, 64], z: mut f32[1, 64])
    grid [1]
    threads 128
{
    let s = shared_tensor(f32, [64, 64]);
    let v = load(x);
    copy(v, s);
    copy(sum(v, axis: 0), z);
    copy(load(s.T), y);
}

test "turn and sum" {
    let x = randn(f32, [64, 64], seed: 1);
    let y = empty(f32, [64, 64]);
    let z = empty(f32, [1, 64]);
    turn_and_sum(x, y, z);
    assert_eq(y, x.T);
    assert_close(z, x.sum(axis: 0, keep: true), ulp: 8);
}

// One buffer holds a tile and later its transpose, a barrier on each side of every use.
kernel twice(x: f32[32, 32], y: mut f32[32, 32])
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [32, 32]);
    copy(load(x), s);
    sync();
    let t = load(s.T);
    sync();
    copy(t * 2.0, s);
    sync();
    copy(load(s.T), y);
}

test "twice" {
    let x = randn(f32, [32, 32], seed: 1);
    let y = empty(f32, [32, 32]);
    twice(x, y);
    assert_eq(y, cast(x * 2.0, f32));
}

// A block stores a tile and stores it again: each element by the thread that stored it before.
kernel twice(x: f32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    let t = load(x);
    copy(t, y);
    copy(t + 1.0, y);
}

test "twice" {
    let x = randn(f32, [64], seed: 1);
    let y = empty(f32, [64]);
    twice(x, y);
    assert_eq(y, cast(x + 1.0, f32));
}

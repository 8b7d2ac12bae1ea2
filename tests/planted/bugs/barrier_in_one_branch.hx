// planted: HX0401 in check
// The barrier is there for long rows only.
kernel turn(x: f32[32, 32], y: mut f32[32, 32], n: i32)
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [32, 32]);
    copy(load(x), s);
    if n > 1 {
        sync();
    }
    copy(load(s.T), y);
}

test "turn" {
    let y = empty(f32, [32, 32]);
    turn(randn(f32, [32, 32], seed: 1), y, 1);
}

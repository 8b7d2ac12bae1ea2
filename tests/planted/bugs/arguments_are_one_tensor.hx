// planted: HX0605 in test
// Source and destination are the same tensor, one of them transposed.
kernel turn(x: f32[32, 32] : [s, t], y: mut f32[32, 32])
    grid [1]
    threads 32
{
    copy(load(x), y);
}

test "turn" {
    let a = randn(f32, [32, 32], seed: 1);
    turn(a.T, a);
}

// planted: HX0620 in test
// The counter of the loop is never advanced.
kernel stuck(x: f32[64], y: mut f32[64], rounds: i32)
    grid [1]
    threads 32
{
    let t = load(x);
    let i = 0;
    while i < rounds {
        t = t * 0.5;
    }
    copy(t, y);
}

test "stuck" {
    let x = randn(f32, [64], seed: 1);
    let y = empty(f32, [64]);
    stuck(x, y, 3);
}

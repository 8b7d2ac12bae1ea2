// planted: HX0401 in check
// Each round has a number of its own that decides whether the barrier behind the read exists. It does in the test.
kernel turned<B = 32>(x: f32[m, B, B], y: mut f32[m, B, B], flags: i32[m])
    grid [1]
    threads 128
{
    let s = shared_tensor(f32, [B, B]);
    for i in 0..m {
        let flag = flags[i];
        copy(load(x[i]), s);
        sync();
        copy(load(s.T), y[i]);
        if flag > 0 {
            sync();
        }
    }
}

test "turned" {
    let x = randn(f32, [4, 32, 32], seed: 501);
    let y = empty(f32, [4, 32, 32]);
    turned(x, y, full(i32, [4], 1));
    for i in 0..4 {
        assert_eq(y[i], x[i].T);
    }
}

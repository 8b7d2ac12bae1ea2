// planted: HX0401 in check
// The only barrier is in a loop that data may end before its first round. It has one in the test.
kernel turned<B = 32>(x: f32[m, B, B], y: mut f32[m, B, B], times: i32[m])
    grid [m]
    threads 128
{
    let s = shared_tensor(f32, [B, B]);
    let left = times[block_idx];
    copy(load(x[block_idx]), s);
    while left > 0 {
        sync();
        left = left - 1;
    }
    copy(load(s.T), y[block_idx]);
}

test "turned" {
    let x = randn(f32, [4, 32, 32], seed: 501);
    let y = empty(f32, [4, 32, 32]);
    turned(x, y, full(i32, [4], 1));
    for i in 0..4 {
        assert_eq(y[i], x[i].T);
    }
}

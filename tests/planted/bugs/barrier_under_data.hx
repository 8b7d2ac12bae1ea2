// planted: HX0401 in check
// A number of a table decides whether the barrier before the transposed read exists. It does in the test.
kernel turned<B = 32>(x: f32[m, B, B], y: mut f32[m, B, B], flags: i32[m])
    grid [m]
    threads 128
{
    let s = shared_tensor(f32, [B, B]);
    let flag = flags[block_idx];
    copy(load(x[block_idx]), s);
    if flag > 0 {
        sync();
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

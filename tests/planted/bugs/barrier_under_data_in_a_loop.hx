// planted: HX0401 in check
// A number of a table decides whether the barrier before the transposed read exists, in each round. It does in the test.
kernel turned<B = 32>(x: f32[m, B, B], y: mut f32[m, B, B], rounds: i32[m], flags: i32[m])
    grid [m]
    threads 128
{
    let s = shared_tensor(f32, [B, B]);
    let (n, flag) = (rounds[block_idx], flags[block_idx]);
    let v = load(x[block_idx]);
    for _ in 0..n {
        copy(v, s);
        if flag > 0 {
            sync();
        }
        v = load(s.T) + 1.0;
        sync();
    }
    copy(v, y[block_idx]);
}

test "turned" {
    let x = randn(f32, [4, 32, 32], seed: 501);
    let y = empty(f32, [4, 32, 32]);
    turned(x, y, full(i32, [4], 2), full(i32, [4], 1));
    for i in 0..4 {
        assert_close(y[i], x[i] + 2.0, rtol: 1e-6);
    }
}

// A number of a table decides what lies between the write and the read, and both ways have a barrier; another number decides whether
// there is an access at all, and the barrier with it.
kernel turned<B = 32>(x: f32[m, B, B], y: mut f32[m, B, B], flags: i32[m])
    grid [m]
    threads 128
{
    let s = shared_tensor(f32, [B, B]);
    let flag = flags[block_idx];
    copy(load(x[block_idx]), s);
    if flag > 0 {
        sync();
        copy(load(s.T), y[block_idx]);
    } else {
        sync();
        copy(load(s), y[block_idx]);
    }
}

test "turned" {
    let x = randn(f32, [4, 32, 32], seed: 501);
    let y = empty(f32, [4, 32, 32]);
    turned(x, y, cast([1, 0, 1, 0], i32));
    for i in 0..4 {
        assert_eq(y[i], if i % 2 == 0 { x[i].T } else { x[i] });
    }
}

// What a warp hands to itself needs no barrier of the block.
kernel turn(x: f32[32, 4], y: mut f32[32, 4])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [32, 4]);
    copy(load(x), s);
    sync_warp();
    let t = register_tensor(f32, [32, 4], layout: (32, 4) : (4, 1));
    copy(s, t);
    copy(t, y);
}

test "turn" {
    let x = randn(f32, [32, 4], seed: 1);
    let y = empty(f32, [32, 4]);
    turn(x, y);
    assert_eq(y, x);
}

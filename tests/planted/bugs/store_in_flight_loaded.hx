// planted: HX0422 in check
// Bug: the tile is loaded while the store to it is in flight: the wait covers its reads only.
kernel back(x: f32[m], y: mut f32[m], z: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy(load(tile(x, [256])[.., block_idx]) * 2.0, s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx]);
    wait_stores(0);
    sync();
    copy(load(tile(y, [256])[.., block_idx]) + 1.0, tile(z, [256])[.., block_idx]);
}

test "back" {
    let x = randn(f32, [1000], seed: 1);
    let (y, z) = (empty(f32, [1000]), empty(f32, [1000]));
    back(x, y, z);
    assert_close(z, x * 2.0 + 1.0, ulp: 2);
}

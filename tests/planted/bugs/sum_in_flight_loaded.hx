// planted: HX0422 in check
// Bug: the sum is loaded while it is in flight.
kernel back5(x: f32[m], y: mut f32[m], z: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy(load(tile(x, [256])[.., block_idx]) * 2.0, s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx], add: true);
    wait_stores(0);
    sync();
    copy(load(tile(y, [256])[.., block_idx]), tile(z, [256])[.., block_idx]);
}

test "sum then a load" {
    let x = randn(f32, [1000], seed: 1);
    let (y, z) = (zeros(f32, [1000]), empty(f32, [1000]));
    back5(x, y, z);
    assert_close(z, x * 2.0, ulp: 2);
}

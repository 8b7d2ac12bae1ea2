// planted: HX0422 in check
// Bug: the second store may reach memory before the first.
kernel back3(x: f32[m], y: mut f32[m])
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
    copy(load(tile(x, [256])[.., block_idx]) * 3.0, s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx]);
}

test "store then a store" {
    let x = randn(f32, [1000], seed: 1);
    let y = empty(f32, [1000]);
    back3(x, y);
    assert_close(y, x * 3.0, ulp: 2);
}

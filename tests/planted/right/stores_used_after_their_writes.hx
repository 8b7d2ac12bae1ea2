/// What bulk stores and sums write is used in the same launch, behind a wait for the writes and a barrier.

kernel back(x: f32[m], y: mut f32[m], z: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy(load(tile(x, [256])[.., block_idx]) * 2.0, s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx]);
    wait_stores(0, read: false);
    sync();
    copy(load(tile(y, [256])[.., block_idx]) + 1.0, tile(z, [256])[.., block_idx]);
}

test "back" {
    let x = randn(f32, [1000], seed: 1);
    let (y, z) = (empty(f32, [1000]), empty(f32, [1000]));
    back(x, y, z);
    assert_close(z, x * 2.0 + 1.0, ulp: 2);
}

kernel back2(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy(load(tile(x, [256])[.., block_idx]) * 2.0, s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx]);
    wait_stores(0, read: false);
    sync();
    copy(load(tile(x, [256])[.., block_idx]) * 3.0, tile(y, [256])[.., block_idx]);
}

test "store then a plain store" {
    let x = randn(f32, [1000], seed: 1);
    let y = empty(f32, [1000]);
    back2(x, y);
    assert(uses("tma.store"));
    assert_close(y, x * 3.0, ulp: 2);
}

kernel back3(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy(load(tile(x, [256])[.., block_idx]) * 2.0, s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx]);
    wait_stores(0, read: false);
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

kernel back4(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy(load(tile(x, [256])[.., block_idx]) * 2.0, s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx]);
    wait_stores(0, read: false);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx], add: true);
}

test "store then a sum" {
    let x = randn(f32, [1000], seed: 1);
    let y = empty(f32, [1000]);
    back4(x, y);
    assert_close(y, x * 4.0, ulp: 2);
}

kernel back5(x: f32[m], y: mut f32[m], z: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy(load(tile(x, [256])[.., block_idx]) * 2.0, s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx], add: true);
    wait_stores(0, read: false);
    sync();
    copy(load(tile(y, [256])[.., block_idx]), tile(z, [256])[.., block_idx]);
}

test "sum then a load" {
    let x = randn(f32, [1000], seed: 1);
    let (y, z) = (zeros(f32, [1000]), empty(f32, [1000]));
    back5(x, y, z);
    assert_close(z, x * 2.0, ulp: 2);
}

kernel back6(x: f32[m], y: mut f32[m], done: mut i32[1], z: mut f32[1])
    where m % 4 == 0, m <= 1024
    grid [cdiv(m, 256)]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy(load(tile(x, [256])[.., block_idx]) * 2.0, s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx]);
    wait_stores(0, read: false);
    sync();
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    if scalar(atomic_add(done, one, order: "acq_rel")) == grid_dim - 1 {
        let all = load(tile(y, [1024])[.., 0]);
        copy(sum(all, axis: 0), z);
    }
}

test "store, then the last block reads" {
    let x = randn(f32, [1000], seed: 1);
    let (y, d, z) = (empty(f32, [1000]), zeros(i32, [1]), empty(f32, [1]));
    back6(x, y, d, z);
    assert_close(z[0], 2.0 * sum(x), rtol: 1e-3, atol: 1e-3);
}

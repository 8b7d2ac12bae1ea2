// planted: HX0422 in check
// Bug: the ticket says that a block stored its part, but the stores are in flight.
kernel back6(x: f32[m], y: mut f32[m], done: mut i32[1], z: mut f32[1])
    where m % 4 == 0, m <= 1024
    grid [cdiv(m, 256)]
    threads 64
{
    let s = shared_tensor(f32, [256]);
    copy(load(tile(x, [256])[.., block_idx]) * 2.0, s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx]);
    wait_stores(0);
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

// A round of the loop counts, so no two are the same.
kernel locked(x: i32[m], table: mut i32[8], lock: mut i32[1])
    grid [cdiv(m, 64)]
    threads 64
{
    let s = sum(load(tile(x, [64])[.., block_idx]), axis: 0);
    let (one, none) = (register_tensor(i32, [1]), register_tensor(i32, [1]));
    fill(one, 1);
    fill(none, 0);
    let tries = 0;
    while scalar(atomic_cas(lock, none, one, order: "acquire")) != 0 {
        tries = tries + 1;
    }
    let t = load(table);
    sync();
    copy(t + s, table);
    atomic_store(lock, none, order: "release");
}

test "locked" {
    let x = uniform(i32, [500], seed: 1, low: 0, high: 9);
    let (table, lock) = (zeros(i32, [8]), zeros(i32, [1]));
    locked(x, table, lock);
    assert_eq(table, broadcast_to(reshape(sum(x), [1]), [8]));
}

// planted: HX0421 in check
// The lock is atomic among the threads of one block only.
kernel locked(x: i32[m], table: mut i32[8], lock: mut i32[1])
    grid [cdiv(m, 64)]
    threads 64
{
    let s = sum(load(tile(x, [64])[.., block_idx]), axis: 0);
    let (one, none) = (register_tensor(i32, [1]), register_tensor(i32, [1]));
    fill(one, 1);
    fill(none, 0);
    while scalar(atomic_cas(lock, none, one, order: "acquire", scope: "block")) != 0 {}
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
